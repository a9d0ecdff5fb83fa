"""Erasing a data subject from all that sessions keep: the logs' tombstones, then every store in `STORES`.

`carry_out` does what an approved request asks, and may be killed anywhere: whoever runs it again goes on. First each
log with an entry under the subject's key gets its tombstone. The subject's own sessions end with it, sealed, whatever
they were doing; in a session of somebody else the subject's instances go and the session lives on; a profile is
sealed. Then the key is destroyed and the stores are swept; once no other process can remember the key, they are swept
again, and the request is done.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from django.db import OperationalError

from agentstate.clock import now
from agentstate.engine.decide import EraseCustomer, EraseSubject
from audit import erasure, keyed, keys, ledger
from audit.models import ErasureRequest
from sessions.core import crash_points, states
from sessions.core.commit import person_command
from sessions.core.committed import Author, Committed
from sessions.models.sessions import AgentSession, CustomerProfile
from sessions.privacy.stores import STORES

log = logging.getLogger(__name__)
PATIENCE = 1.0  # seconds that a statement waits for a lock, before the next erasure has its turn


def sessions_of(kid: UUID) -> list[UUID]:
    """The sessions of others with entries of instances under this key."""
    logs = keyed.logs_of(kid)
    found = AgentSession.objects.filter(pk__in=logs).exclude(kid=kid).order_by("pk")
    return list(found.values_list("pk", flat=True))


def recorded(session: UUID, kid: UUID) -> Committed:
    """Append the erasure of instances under `kid` to a session; their key must be destroyed next. Nothing when there
    are none. The session itself goes on.
    """
    committed = person_command(session, EraseSubject(str(kid)), Author(ledger.SYSTEM))
    states.forget(session)  # in this process at once, in others with the key
    return committed


def closed(session: UUID, kid: UUID, request: str) -> Committed:
    """End the subject's own session, whatever it is doing, with its tombstone and its seal in one commit."""
    committed = person_command(session, EraseCustomer(str(kid), f"erasure:{request}"), Author(ledger.SYSTEM))
    states.forget(session)
    return committed


def carry_out_due() -> int:
    """Go on with every approved request, however long others are held up. Gives how many were finished."""
    return sum(_went_on(request) for request in erasure.due())


def _went_on(request: UUID) -> bool:
    """`carry_out`, with what goes wrong told to the log: the next run tries again, and the others are not held up."""
    try:
        with erasure.patience(PATIENCE):
            return carry_out(request)
    except erasure.StillWritten:
        log.info("erasure %s waits for an older transaction", request)
    except OperationalError:
        log.info("erasure %s waits for a lock", request)
    except Exception as error:
        log.error("erasure %s could not go on: %s", request, type(error).__name__)
    return False


def carry_out(request: UUID) -> bool:
    """Go on with one approved request as far as it goes now; whether it is done. Raises erasure.StillWritten."""
    with erasure.alone(request) as mine:
        asked = ErasureRequest.objects.filter(pk=request, state=erasure.State.APPROVED).first()
        if not mine or asked is None:
            return False
        if asked.destroyed_at is None and not _destroyed(asked):
            return False
        return _swept(asked)


def _destroyed(asked: ErasureRequest) -> bool:
    """Tombstones in all logs, then the end of the key; False while a legal hold blocks it."""
    if not erasure.is_destroyed(asked.kid):
        if not erasure.close(asked):
            return False
        crash_points.point("after_closing")
        erasure.must_be_settled(asked.kid)
        for number, (each, stone) in enumerate(erasure.logs_of(asked.kid)):
            if not stone:
                _tombstone(each, asked)
                crash_points.point("after_tombstone", str(number))
    erasure.destroy(asked)
    crash_points.point("after_destroying")
    _sweep(asked)
    return True


def _tombstone(each: UUID, asked: ErasureRequest) -> None:
    """The last entry under the key in one log. Where no state can be folded any more it is appended as it is."""
    own = AgentSession.objects.filter(pk=each).values_list("kid", flat=True).first()
    try:
        if own is not None:
            closed(each, asked.kid, str(asked.pk)) if own == asked.kid else recorded(each, asked.kid)
    except keys.Erased:
        pass
    if not erasure.has_tombstone(each, asked.kid):
        erasure.tombstone(each, asked.kid, seals=CustomerProfile.objects.filter(log=each).exists())


def _sweep(asked: ErasureRequest) -> None:
    erasure.keep_counts(asked, _sweep_all(asked.kid))


def _sweep_all(kid: UUID) -> dict[str, int]:
    """Sweep every store, also those behind one whose rows somebody has locked; gives the counts. Raises
    OperationalError then.
    """
    counts, held_up = {}, list[OperationalError]()
    for store in STORES:
        try:
            counts[store.name] = store.sweep(kid)
        except OperationalError as error:
            held_up.append(error)
        crash_points.point("after_sweeping", store.name)
    if held_up:
        raise held_up[0]
    return counts


def _swept(asked: ErasureRequest) -> bool:
    """The second sweep, once nobody can have the key in memory: what was written meanwhile goes too."""
    assert asked.destroyed_at is not None
    if now() < asked.destroyed_at + timedelta(seconds=keys.CACHE_SECONDS):
        return False
    erasure.finish(asked, _sweep_all(asked.kid))
    return True


def preview(kid: UUID) -> dict[str, int]:
    """What an erasure would delete, by store."""
    return {store.name: store.count(kid) for store in STORES}
