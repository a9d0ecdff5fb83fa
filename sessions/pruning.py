"""Pruning: deleting the payloads of closed sessions whose retention term is over, with a tombstone in the log.

The entry comes first, the deletion after it, and the row's card goes last: a session that still has its card is not
finished, so whoever was killed anywhere is followed by the next run. What is under a legal hold waits.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine.decide import PrunePayloads
from agentstate.engine.instants import stamp
from agentstate.errors import Refused
from audit import erasure, keys, ledger, retention, staff
from sessions import states
from sessions.commit import Author, person_command
from sessions.models import AgentSession, ApprovalRequest, Snapshot, SnapshotPart
from sessions.runtime import crash

log = logging.getLogger(__name__)
PRUNED = "payload.pruned"


class Held(Refused):
    """A legal hold keeps this session."""

    code = "legal_hold"


class Due(msgspec.Struct, frozen=True):
    """A closed session whose term is over. `held`: a legal hold keeps it."""

    session: UUID
    tenant: UUID
    team: UUID
    agent: str
    channel: str
    retention: str
    ended_at: datetime
    due_at: datetime
    payloads: int
    held: bool


def due(tenant: UUID, limit: int = 1_000) -> list[Due]:
    """The closed sessions whose payloads the rules would have deleted by now, those that ended first in front."""
    return list(_due(tenant, limit))


def _due(tenant: UUID, limit: int) -> Iterator[Due]:
    in_force = retention.schedule(tenant)
    if not in_force.rules:
        return
    shortest = min((each.days for each in in_force.classes), default=0)
    closed = AgentSession.objects.filter(tenant=tenant, ended_at__lte=now() - timedelta(days=shortest))
    found = 0
    for row in closed.exclude(card=b"").order_by("ended_at").iterator():
        term = in_force.of(row.team_id, row.agent, row.channel)
        if term is None or row.ended_at is None or row.ended_at + timedelta(days=term.days) > now():
            continue
        ends = row.ended_at + timedelta(days=term.days)
        payloads, held = _facts(row.pk)
        yield Due(row.pk, tenant, row.team_id, row.agent, row.channel, term.name, row.ended_at, ends, payloads, held)
        found += 1
        if found == limit:
            return


# The kids of a session's entries: its customer's, and those of instances with a data subject of their own.
_HELD = """SELECT 1 FROM audit_legalhold h WHERE h.lifted_at IS NULL AND (h.until IS NULL OR h.until > now())
  AND (h.log = %(h_log)s OR h.log IS NULL AND h.kid IN
   (SELECT (convert_from(envelope, 'UTF8')::json->>'kid')::uuid FROM audit_entry WHERE log = %(h_log)s))"""


def _facts(session: UUID) -> tuple[int, bool]:
    payloads = ledger.run("SELECT count(*) FROM audit_payload WHERE log = %(log)s", {"log": session})
    return int(payloads[0][0]), bool(ledger.run(_HELD, {"h_log": session}))


def prune_due(tenant: UUID) -> int:
    """Prune what is due and not held. Gives how many sessions; one that is broken does not hold up the others."""
    done: dict[str, int] = {}
    for each in due(tenant):
        if not each.held and _went_well(each):
            done[each.retention] = done.get(each.retention, 0) + 1
    if done:
        staff.record(tenant, now(), "retention.pruned", ledger.SYSTEM, "", {"sessions": done})
    return sum(done.values())


def _went_well(each: Due) -> bool:
    try:
        pruned(each)
    except Held:
        return False
    except Exception as error:
        log.error("session %s could not be pruned: %s", each.session, type(error).__name__)
        return False
    return True


def pruned(each: Due) -> None:
    """Prune one session: tombstone, ciphertexts, what was derived from them, and at last the card. Raises Held."""
    command = PrunePayloads(each.retention, stamp(each.due_at))
    guard = ledger.Fragment(f"SELECT 1 WHERE NOT EXISTS ({_HELD})", {"h_log": each.session})
    with suppress(keys.Erased):  # pruned before by somebody who was killed, or erased meanwhile
        person_command(each.session, command, Author(ledger.SYSTEM), guard=guard, refused=Held())
    crash.point("after_pruning_entry")
    last = _tombstone_of(each.session)
    if last is not None:
        erasure.delete_range(each.session, 0, last - 1)
        crash.point("after_pruning")
        _forget(each.session)


def _tombstone_of(session: UUID) -> int | None:
    """The seq of the session's first `payload.pruned`."""
    rows = ledger.run(
        "SELECT min(seq) FROM audit_entry WHERE log = %(log)s"
        " AND position(convert_to(%(kind)s, 'UTF8') IN envelope) > 0",
        {"log": session, "kind": f'"kind":"{PRUNED}"'},
    )
    return rows[0][0]  # type: ignore[no-any-return]


def _forget(session: UUID) -> None:
    Snapshot.objects.filter(pk=session).delete()
    SnapshotPart.objects.filter(session=session).delete()
    ApprovalRequest.objects.filter(session=session).update(card=b"")
    AgentSession.objects.filter(pk=session).update(card=b"", ready_at=None, lease_until=None)
    states.forget(session)
