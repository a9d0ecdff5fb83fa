"""Who may look at which session, and the record that they did: the one place both are decided for all doors.

A query asks `may` (or filters by `within`), and says with `note` what it hands out. Inside a request the reads are
collected and written as one entry before the answer leaves (`sessions.http.access_log`, a middleware); anywhere else
each is written at once. When that fails, so does the reading. A door can only say that its page is followed live
(`live`): then there is an entry when it opens, one when it ends, and none for each change between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.ids import new_id
from agentstate.people import grants
from agentstate.people.models import AccessGrant, User
from agentstate.people.permissions import can, narrow_grants, teams_with
from agentstate.people.roles import Permission
from audit import access as log
from audit import keys, ledger
from sessions.models.sessions import AgentSession, OpenView, Viewed

Person = User | AnonymousUser
ADOPTED = timedelta(seconds=20)  # after its opening a page's socket may still come for its view
LOST = timedelta(seconds=90)  # without a sign of life a view has ended
MOST_SWEPT = 200  # views in one sweep


class Kind(StrEnum):
    """The kinds of entries, the most telling last: an answer that several are about is entered as the last of them."""

    LISTED = "access.listed"
    READ = "access.read"
    LOG_READ = "access.log_read"
    SEARCHED = "access.searched"
    PROFILE_READ = "access.profile_read"
    UNMASKED = "access.unmasked"
    PROVED = "access.proved"
    EXPORTED = "access.exported"
    OPENED = "access.opened"
    CLOSED = "access.closed"
    REFUSED = "access.refused"


READS: Mapping[str, Kind] = {  # every way in which personal text is handed out
    "line": Kind.LISTED,
    "wall": Kind.LISTED,
    "sessions": Kind.LISTED,
    "search": Kind.SEARCHED,
    "requests": Kind.LISTED,
    "request": Kind.READ,
    "entries": Kind.READ,
    "state": Kind.READ,
    "plan": Kind.READ,
    "memory": Kind.READ,
    "step": Kind.READ,
    "talk": Kind.READ,
    "versions": Kind.READ,
    "difference": Kind.READ,
    "replay": Kind.READ,
    "dry run": Kind.READ,
    "sample": Kind.PROVED,
    "proof": Kind.PROVED,
    "proof unmasked": Kind.UNMASKED,
    "disclosure": Kind.PROVED,
    "private": Kind.UNMASKED,
    "profile": Kind.PROFILE_READ,
    "subject report": Kind.PROFILE_READ,
    "export": Kind.EXPORTED,
    "export unmasked": Kind.UNMASKED,
    "access log": Kind.LOG_READ,
    "staff log": Kind.LOG_READ,
}
LIVE = {Kind.LISTED, Kind.READ, Kind.SEARCHED, Kind.UNMASKED}  # what may be part of a live view
_RANK = {kind: rank for rank, kind in enumerate(Kind)}
UNKNOWN = -1  # as the first and last entry of a read that is not of a range


class Seen(NamedTuple):
    """Something that was read: a session (or a customer), its team, and the entries from the first to the last."""

    id: UUID
    team: UUID
    first: int = UNKNOWN
    last: int = UNKNOWN


@dataclass
class _Read:
    what: str
    facts: dict[str, object]
    seen: dict[tuple[UUID, UUID], Seen]

    def take(self, more: Iterable[Seen]) -> None:
        for each in more:
            held = self.seen.get((each.id, each.team))
            self.seen[each.id, each.team] = each if held is None else _joined(held, each)

    def told(self) -> dict[str, object]:
        about = {str(each.id): [each.first, each.last] for each in self.seen.values()}
        return {"what": self.what, **self.facts, "about": about}


def _joined(one: Seen, other: Seen) -> Seen:
    known = [each for each in (one, other) if each.last != UNKNOWN] or [one]
    return one._replace(first=min(each.first for each in known), last=max(each.last for each in known))


@dataclass
class _Answer:
    """What one request has read so far, and whether its page is followed."""

    user: User | None = None
    reads: list[_Read] = field(default_factory=list)
    page: str = ""
    topic: str = ""
    goes_on: bool = False
    grants: dict[UUID, list[AccessGrant]] = field(default_factory=dict)  # asked for once a request


_answer: ContextVar[_Answer | None] = ContextVar("access", default=None)


def within(user: Person, permission: Permission, prefix: str = "") -> Q:
    """The sessions on which `user` holds `permission` now: by role, or by a grant; for rows that reach a session by
    `prefix`.
    """
    found = Q(**{f"{prefix}team__in": teams_with(user, permission)})
    for grant in _narrow(user, permission):
        found |= _covered(grant, prefix)
    return found


def may(user: Person, permission: Permission, session: UUID, team: UUID) -> bool:
    """Whether `user` holds `permission` on this session of this team now."""
    return can(user, permission, team) or any(
        AgentSession.objects.filter(_covered(grant, ""), pk=session).exists()
        for grant in _narrow(user, permission)
        if grant.team_id == team
    )


def _narrow(user: Person, permission: Permission) -> list[AccessGrant]:
    if not isinstance(user, User):
        return []
    answer = _answer.get()
    known = answer.grants if answer is not None else {}
    if user.pk not in known:
        known[user.pk] = narrow_grants(user)
    return [grant for grant in known[user.pk] if permission.value in grant.kinds]


def _covered(grant: AccessGrant, prefix: str) -> Q:
    found = Q(**{f"{prefix}team": grant.team_id})
    if grant.sessions:
        found &= Q(**{f"{prefix}pk__in": grant.sessions})
    if grant.opened_from:
        found &= Q(**{f"{prefix}opened_at__gte": grant.opened_from})
    if grant.opened_to:
        found &= Q(**{f"{prefix}opened_at__lt": grant.opened_to})
    return found


def note(user: Person, what: str, seen: Iterable[Seen], **facts: object) -> None:
    """`user` is handed what `READS` calls `what` of these. Facts hold ids and plain values, nothing personal.

    Raises NotRecorded (outside of a request; inside, the answer becomes that refusal).
    """
    kind = READS[what]
    if not isinstance(user, User):
        return
    read = _Read(what, {name: value for name, value in facts.items() if value not in ("", None)}, {})
    read.take(seen)
    if not read.seen and kind is not Kind.SEARCHED:
        return  # nothing about anybody; that somebody was not found is
    answer = _answer.get()
    if answer is None:
        _write(user, [read])
        return
    answer.user = user
    for held in answer.reads:
        if (held.what, held.facts) == (read.what, read.facts):
            held.take(read.seen.values())
            return
    answer.reads.append(read)


def searched(user: User, text: str) -> str:
    """Returns a keyed token of a search term, the same for the same term of this reader on one day (UTC).

    Another day's or reader's token differs: a search for a customer who came back leads to no entry about the sessions
    that were erased.
    """
    return keys.blind_token(user.tenant_id, f"search/{user.actor}/{now():%Y-%m-%d}", text).hex()


def by_link(tenant: UUID, link: UUID, seen: Seen) -> None:
    """Somebody from outside opens what was disclosed to them: an entry of a log of the link's own. Raises
    NotRecorded.
    """
    about = {str(seen.id): [seen.first, seen.last]}
    reads = [{"what": "disclosure", "disclosure": str(link), "about": about}]
    _entered(tenant, f"link:{link}", READS["disclosure"], {"door": "link", "reads": reads}, [seen])


def refused(user: Person, what: str, session: UUID) -> None:
    """Record a refusal where that matters: an export, and whatever is asked for after a grant has ended."""
    if isinstance(user, User) and (READS[what] is Kind.EXPORTED or grants.ended_for(user)):
        team = AgentSession.objects.values_list("team_id", flat=True).get(pk=session)
        _append(user, Kind.REFUSED, {"what": what}, [Seen(session, team)])


def live(page: str, topic: str, *, goes_on: bool) -> None:
    """The page of this request is followed by a socket under `topic`. It is opened now, or `goes_on`."""
    answer = _answer.get()
    if answer is not None:
        answer.page, answer.topic, answer.goes_on = page, topic, goes_on


@contextmanager
def collecting() -> Iterator[_Answer]:
    answer = _Answer()
    token = _answer.set(answer)
    try:
        yield answer
    finally:
        _answer.reset(token)


def settle(answer: _Answer, door: str) -> None:
    reads = _told_once(answer.reads)
    if answer.user is None or not reads:
        return
    seen = _Read("", {}, {})
    for read in reads:
        seen.take(read.seen.values())
    if not answer.topic or any(READS[read.what] not in LIVE for read in reads):
        _write(answer.user, reads, door)
    elif not (answer.goes_on and _follow(answer.user, answer.page, answer.topic, seen.seen.values())):
        _open(answer, door, reads, list(seen.seen.values()))


def _told_once(reads: list[_Read]) -> list[_Read]:
    """Without the lines of sessions that are read in full beside them."""
    full = {each for read in reads if read.what != "line" for each in read.seen}
    return [read for read in reads if read.what != "line" or not full.issuperset(read.seen)]


def _write(user: User, reads: list[_Read], door: str = "") -> None:
    kind = max((READS[read.what] for read in reads), key=_RANK.__getitem__)
    seen = [each for read in reads for each in read.seen.values()]
    _append(user, kind, {"door": door, "reads": [read.told() for read in reads]}, seen)


_LINE = """
INSERT INTO agent_sessions_accessline (log, seq, tenant, reader, at, kind, about, teams)
SELECT head.log, %(base)s, %(tenant)s, %(reader)s, %(at)s, %(kind)s, %(about)s::uuid[], %(teams)s::uuid[] FROM head"""

_VIEW = """
INSERT INTO agent_sessions_openview (id, tenant, reader, page, topic, opened_at, seen_at)
SELECT %(view)s, %(tenant)s, %(reader)s, %(page)s, %(topic)s, now(), now() FROM head"""

_VIEWED = """
INSERT INTO agent_sessions_viewed (view, session, team, first, last)
SELECT %(view)s, row.* FROM head,
  unnest(%(sessions)s::uuid[], %(their_teams)s::uuid[], %(firsts)s::bigint[], %(lasts)s::bigint[]) AS row"""

_FOLLOW = """
WITH view AS (
  UPDATE agent_sessions_openview SET seen_at = now() WHERE id = (
    SELECT id FROM agent_sessions_openview
    WHERE reader = %(reader)s AND topic = %(topic)s AND page = %(page)s AND seen_at > now() - %(lost)s
    ORDER BY seen_at DESC LIMIT 1) RETURNING id),
viewed AS (
  INSERT INTO agent_sessions_viewed AS held (view, session, team, first, last)
  SELECT view.id, row.* FROM view,
    unnest(%(sessions)s::uuid[], %(their_teams)s::uuid[], %(firsts)s::bigint[], %(lasts)s::bigint[]) AS row
  ON CONFLICT (view, session) DO UPDATE
  SET first = coalesce(least(nullif(held.first, -1), nullif(excluded.first, -1)), -1),
      last = greatest(held.last, excluded.last))
SELECT id FROM view"""


def _columns(seen: Iterable[Seen]) -> dict[str, Any]:
    them = list(seen)
    return {
        "sessions": [each.id for each in them],
        "their_teams": [each.team for each in them],
        "firsts": [each.first for each in them],
        "lasts": [each.last for each in them],
    }


def _append(
    user: User,
    kind: Kind,
    facts: Mapping[str, object],
    seen: Iterable[Seen],
    extra_writes: Iterable[ledger.Fragment] = (),
) -> None:
    _entered(user.tenant_id, user.actor, kind, facts, list(seen), extra_writes)


def _entered(
    tenant: UUID,
    reader: str,
    kind: Kind,
    facts: Mapping[str, object],
    seen: list[Seen],
    extra_writes: Iterable[ledger.Fragment] = (),
) -> None:
    at = now()
    about, teams = sorted({each.id for each in seen}), sorted({each.team for each in seen})
    line = ledger.Fragment(_LINE, {"reader": reader, "at": at, "kind": kind.value, "about": about, "teams": teams})
    log.record(tenant, reader, kind.value, facts, (line, *extra_writes), at)


def _open(answer: _Answer, door: str, reads: list[_Read], seen: list[Seen]) -> None:
    """The first entry of a live view, with the row by which it will be closed."""
    assert answer.user is not None
    view = new_id()
    facts = {"view": str(view), "page": answer.page, "door": door, "reads": [read.told() for read in reads]}
    row = ledger.Fragment(_VIEW, {"view": view, "page": answer.page, "topic": answer.topic})
    _append(answer.user, Kind.OPENED, facts, seen, (row, ledger.Fragment(_VIEWED, _columns(seen))))


def _follow(user: User, page: str, topic: str, seen: Iterable[Seen]) -> bool:
    """Add what was read to this person's open view of the topic. False when there is none."""
    params = {"reader": user.actor, "topic": topic, "page": page, "lost": LOST, **_columns(seen)}
    try:
        return bool(ledger.run(_FOLLOW, params))
    except log.FAILURES as error:
        raise log.NotRecorded() from error


def adopt(user: User, topics: Iterable[str]) -> set[UUID]:
    """The views of these topics that this person just opened and no socket holds yet: from now on the caller does."""
    rows = ledger.run(
        "UPDATE agent_sessions_openview SET held = true, seen_at = now() WHERE reader = %(reader)s"
        " AND topic = ANY(%(topics)s) AND NOT held AND opened_at > now() - %(adopted)s RETURNING id",
        {"reader": user.actor, "topics": list(topics), "adopted": ADOPTED},
    )
    return {view for (view,) in rows}


def touch(views: Iterable[UUID]) -> None:
    """A sign of life of views that are held."""
    OpenView.objects.filter(pk__in=list(views)).update(seen_at=Now())


def close(view: UUID, why: str) -> bool:
    """The last entry of a live view: what it has shown, and until when it is known to have been there. Once.

    Raises NotRecorded; the view stays open then, and the sweeper tries again.
    """
    with transaction.atomic():
        row = OpenView.objects.select_for_update().filter(pk=view).first()
        if row is None:
            return False
        seen = [
            Seen(each.session, each.team, each.first, each.last) for each in Viewed.objects.filter(view=view).iterator()
        ]
        about = {str(each.id): [each.first, each.last] for each in seen}
        times = {"opened_at": row.opened_at.isoformat(), "seen_at": _until(row, why).isoformat()}
        facts = {"view": str(view), "page": row.page, "why": why, **times, "about": about}
        _entered(row.tenant, row.reader, Kind.CLOSED, facts, seen)
        Viewed.objects.filter(view=view).delete()
        row.delete()
    return True


def _until(row: OpenView, why: str) -> datetime:
    return row.seen_at if why in ("lost", "not followed") else now()


def close_lost() -> int:
    """Close the views that have shown no sign of life: of processes that died, and of pages that nobody followed."""
    rows = OpenView.objects.filter(seen_at__lt=Now() - LOST).order_by("seen_at").values_list("pk", "held")
    return sum(close(view, "lost" if held else "not followed") for view, held in list(rows[:MOST_SWEPT]))
