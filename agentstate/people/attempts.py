"""Attempts to sign in by password: each is counted before its password is looked at, so that many at once count as
many.

The counters are rows, each read and changed under its lock. They stand in PostgreSQL, since the attempts of an attacker
must outlive a cache that is lost. A key is a keyed digest: people type passwords where names belong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.utils.crypto import salted_hmac

from agentstate.people.delays import ACCOUNT, ADDRESS, KEPT, Limit, remaining
from agentstate.people.models import User

ENSURE = "INSERT INTO people_signindelay (key) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING"
LOCK = (
    "SELECT key, level, extract(epoch FROM clock_timestamp() - at)::float8,"
    " extract(epoch FROM opens - clock_timestamp())::float8"
    " FROM people_signindelay WHERE key = ANY(%s) ORDER BY key FOR UPDATE"
)
SET = (
    "UPDATE people_signindelay SET level = %s, at = clock_timestamp(),"
    " opens = clock_timestamp() + make_interval(secs => %s) WHERE key = %s"
)
REFUND = "UPDATE people_signindelay SET level = greatest(level - 1, 0) WHERE key = ANY(%s)"
FORGET = "DELETE FROM people_signindelay WHERE key = %s"
PRUNE = (
    "DELETE FROM people_signindelay WHERE key IN (SELECT key FROM people_signindelay"
    " WHERE at < clock_timestamp() - make_interval(secs => %s) ORDER BY at LIMIT 20 FOR UPDATE SKIP LOCKED)"
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, counted. `wait` > 0: refused unread, to be made again in so many seconds. `next`: seconds that the
    next one waits if this password is wrong. `began`: this one, if wrong, is where waiting begins.
    """

    account: User | None
    wait: float = 0.0
    next: float = 0.0
    began: bool = False
    turn: str = ""
    counted: tuple[str, ...] = ()


@dataclass
class _Row:
    level: float = 0.0
    age: float = 0.0
    opens: float | None = None


@dataclass(frozen=True, slots=True)
class _Keys:
    """`turn` is of this caller and this account. A limit applies to each of `limits`; not all of them are `counted`."""

    turn: str
    limits: dict[str, Limit]
    counted: tuple[str, ...] = field(default=())


def begin(name: str, place: str, browser: str) -> Attempt:
    """Counts an attempt at the account `name` from a network place (`proxies.network_of`).

    `browser`: the id of a browser that is known for this account, or "". Such a browser has a counter of its own, which
    nobody else can raise. A name that no account has is counted for itself and never for its place.
    """
    account = _account(name)
    keys = _keys(name, place, browser if account is not None else "", known=account is not None)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PRUNE, [KEPT])
        cursor.execute(ENSURE, [sorted({keys.turn, *keys.counted})])
        cursor.execute(LOCK, [[keys.turn, *keys.limits]])
        rows = {key: _Row(level, age, opens) for key, level, age, opens in cursor.fetchall()}
        levels = {key: limit.after(rows[key].level, rows[key].age) for key, limit in keys.limits.items() if key in rows}
        wait = _longest(keys, levels)
        left = remaining(rows[keys.turn].opens, wait)
        if left:
            return Attempt(account, wait=left)
        if left is None:
            _set(cursor, keys.turn, levels.get(keys.turn, 0.0), wait)
            return Attempt(account, wait=wait)
        raised = levels | {key: keys.limits[key].raised(levels[key]) for key in keys.counted}
        following = _longest(keys, raised)
        for key in sorted({keys.turn, *keys.counted}):
            _set(cursor, key, raised.get(key, 0.0), following if key == keys.turn and following else None)
    return Attempt(account, 0.0, following, bool(following and not wait), keys.turn, keys.counted)


def succeeded(attempt: Attempt) -> None:
    """Takes back what `begin` counted. What others did wrong stays counted: signing in to one's own account clears
    nothing for an attack on others.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK, [[attempt.turn, *attempt.counted]])
        cursor.execute(REFUND, [list(attempt.counted)])
        cursor.execute(FORGET, [attempt.turn])


def _account(name: str) -> User | None:
    """The account that may sign in with a password under this name."""
    user = User.objects.filter(username=name, is_active=True).first()
    return user if user is not None and user.has_usable_password() else None


def _keys(name: str, place: str, browser: str, *, known: bool) -> _Keys:
    if browser:
        own = _digest("browser", browser, name)
        return _Keys(own, {own: ACCOUNT}, (own,))
    account, address = _digest("account", name), _digest("address", place)
    counted = (account, address) if known else (account,)
    return _Keys(_digest("turn", name, place), {account: ACCOUNT, address: ADDRESS}, counted)


def _digest(*parts: str) -> str:
    return salted_hmac("people.sign_in_delay", "\0".join(parts), algorithm="sha256").hexdigest()


def _longest(keys: _Keys, levels: dict[str, float]) -> float:
    return max((keys.limits[key].wait(level) for key, level in levels.items()), default=0.0)


def _set(cursor: Any, key: str, level: float, opens: float | None) -> None:
    cursor.execute(SET, [level, opens, key])
