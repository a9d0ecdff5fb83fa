"""A key for each data subject, wrapped, and found by a blind index of the subject's reference.

Unwrapped keys stay in process memory for at most CACHE_SECONDS, so erasure takes effect everywhere within that time.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from agentstate.errors import Broken
from agentstate.ids import new_id
from audit.keys import blind
from audit.keys.encryption import KEY, Wrapped
from audit.keys.errors import Erased
from audit.keys.wrapping import unwrap, wrap

CACHE_SECONDS = 60.0
SUBJECT = "subject"  # purpose of the blind index

_INSERT = (
    "INSERT INTO audit_subjectkey (kid, tenant, blind, kek_ref, wrapped, created) VALUES (%s, %s, %s, %s, %s, now())"
    " ON CONFLICT (tenant, blind) WHERE destroyed_at IS NULL DO NOTHING"
)

_cache: dict[UUID, tuple[float, bytes]] = {}
_lock = threading.Lock()


def subject_kid(tenant: UUID, subject: str) -> UUID:
    """The id of the subject's key, made at first use. A subject that was erased gets a new key, never the old one."""
    return subject_kids(tenant, [subject])[subject]


def subject_kids(tenant: UUID, subjects: Iterable[str]) -> dict[str, UUID]:
    """`subject_kid` of many, in three statements."""
    blinds = blind.blind_tokens(tenant, SUBJECT, subjects)
    if not blinds:
        return {}
    with connection.cursor() as cursor:
        found = _find_all(cursor, tenant, blinds.values())
        missing = [token for token in blinds.values() if token not in found]
        if missing:
            cursor.executemany(_INSERT, [_made(tenant, token) for token in missing])
            found = _find_all(cursor, tenant, blinds.values())
    if len(found) < len(set(blinds.values())):
        raise Broken("a subject key vanished while it was made")
    return {subject: found[token] for subject, token in blinds.items()}


def known_kid(tenant: UUID, subject: str) -> UUID | None:
    """The id of the subject's living key, by the blind index; None when nobody of that reference is known."""
    return known_kids(tenant, [subject]).get(subject)


def known_kids(tenant: UUID, subjects: Iterable[str]) -> dict[str, UUID]:
    """The ids of the living keys of those of the subjects who are known, by the blind index. One query."""
    blinds = blind.blind_tokens(tenant, SUBJECT, subjects)
    with connection.cursor() as cursor:
        found = _find_all(cursor, tenant, blinds.values())
    return {subject: found[token] for subject, token in blinds.items() if token in found}


def _made(tenant: UUID, token: bytes) -> list[Any]:
    kid = new_id()
    wrapped = wrap(os.urandom(KEY), kid.bytes)
    return [kid, tenant, token, wrapped.kek_ref, wrapped.data]


def _find_all(cursor: CursorWrapper, tenant: UUID, blinds: Iterable[bytes]) -> dict[bytes, UUID]:
    cursor.execute(
        "SELECT blind, kid FROM audit_subjectkey WHERE tenant = %s AND blind = ANY(%s) AND destroyed_at IS NULL",
        [tenant, list(blinds)],
    )
    return {bytes(token): kid for token, kid in cursor.fetchall()}


def subject_key(kid: UUID) -> bytes:
    """The 32-byte key of a subject. Raises Erased; BadKeyFile when it does not unwrap (wrong key-encryption key)."""
    held = _cache.get(kid)
    if held is not None and held[0] > time.monotonic():
        return held[1]
    found = _load([kid])
    if kid not in found:
        raise Erased(f"subject key {kid}")
    _keep(found)
    return found[kid]


def warm(kids: Iterable[UUID]) -> None:
    """Fetch the keys of many subjects in one query, so that a list of many customers costs no more than one of one."""
    now = time.monotonic()
    missing = [kid for kid in set(kids) if (held := _cache.get(kid)) is None or held[0] <= now]
    if len(missing) >= 2:
        _keep(_load(missing))


def _load(kids: list[UUID]) -> dict[UUID, bytes]:
    """The keys of those that have one still."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kid, kek_ref, wrapped FROM audit_subjectkey WHERE kid = ANY(%s) AND wrapped IS NOT NULL", [kids]
        )
        return {kid: unwrap(Wrapped(ref, bytes(data)), kid.bytes) for kid, ref, data in cursor.fetchall()}


def _keep(found: Mapping[UUID, bytes]) -> None:
    until = time.monotonic() + CACHE_SECONDS
    with _lock:
        if len(_cache) > 10_000:
            _cache.clear()
        _cache.update({kid: (until, key) for kid, key in found.items()})


def remembered(kids: Iterable[UUID]) -> bool:
    """Whether this process remembers the keys of all of `kids`, without looking any up."""
    now = time.monotonic()
    return all((held := _cache.get(kid)) is not None and held[0] > now for kid in kids)


def forget_stale(early: float = 0.0) -> None:
    """Drop the keys that were remembered for CACHE_SECONDS, or will have been in `early` seconds."""
    then = time.monotonic() + early
    with _lock:
        for kid in [kid for kid, (until, _) in _cache.items() if until <= then]:
            del _cache[kid]


def gone(kids: Iterable[UUID]) -> list[UUID]:
    """Those of `kids` that were destroyed, as far as this process knows: keys are remembered for CACHE_SECONDS."""
    every = list(kids)
    warm(every)
    return [kid for kid in every if _is_gone(kid)]


def _is_gone(kid: UUID) -> bool:
    try:
        subject_key(kid)
    except Erased:
        return True
    return False


def closed(kids: Iterable[UUID]) -> frozenset[UUID]:
    """Returns those of `kids` whose erasure has begun, as the database has it: nothing new begins under them."""
    with connection.cursor() as cursor:
        begun = (
            "SELECT kid FROM audit_subjectkey WHERE kid = ANY(%s) AND coalesce(closing_at, destroyed_at) IS NOT NULL"
        )
        cursor.execute(begun, [list(kids)])
        return frozenset(kid for (kid,) in cursor.fetchall())


def destroyed(kids: Iterable[UUID]) -> dict[UUID, datetime]:
    """When each of those that were destroyed was."""
    with connection.cursor() as cursor:
        wanted = "SELECT kid, destroyed_at FROM audit_subjectkey WHERE kid = ANY(%s) AND destroyed_at IS NOT NULL"
        cursor.execute(wanted, [list(kids)])
        return dict(cursor.fetchall())


def forget_all() -> None:
    """Drop every unwrapped key from this process's memory."""
    with _lock:
        _cache.clear()
    blind.forget()
