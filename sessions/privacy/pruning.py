"""Pruning: deleting payloads whose retention term is over, with a tombstone in the log.

A closed session loses all of them. The entry comes first, the deletion after it, and the row's card goes last: a
session that still has its card is not finished, so whoever was killed anywhere is followed by the next run.

A session that goes on loses the oldest, once a day at most: the state after them is recorded (`core.recorded`), in
the same commit as the tombstone, and stands for them. Whoever was killed is followed by a run that finds the oldest
payload still there. What is under a legal hold waits, and a session that holds data of others is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine.decide import PruneHistory, PrunePayloads
from agentstate.engine.instants import stamp
from agentstate.errors import Refused
from audit import erasure, keys, ledger, retention, staff
from sessions.core import crash_points, recorded, states
from sessions.core.commit import person_command
from sessions.core.committed import Author
from sessions.core.guards import Guard
from sessions.models.sessions import AgentSession, ApprovalRequest, RecordedState, Snapshot, SnapshotPart

log = logging.getLogger(__name__)
PRUNED = "payload.pruned"
PAGE = 500  # sessions that are looked at together


class Held(Refused):
    """A legal hold keeps this session."""

    code = "legal_hold"


class Due(msgspec.Struct, frozen=True):
    """A session with a term that is over: of all its payloads when it is closed, else of those of its first `upto`
    entries. `held`: a legal hold keeps it; `others`: that it holds data of other data subjects does.
    """

    session: UUID
    tenant: UUID
    team: UUID
    agent: str
    channel: str
    retention: str
    ended_at: datetime | None
    due_at: datetime
    payloads: int
    held: bool
    upto: int = 0
    others: bool = False

    @property
    def goes(self) -> bool:
        """Whether the next run prunes it."""
        return not self.held and not self.others


class Loss(msgspec.Struct, frozen=True):
    """What a change of retention deletes in a team as things are: closed sessions, their entries with words, and how
    many sessions that go on lose their oldest words.
    """

    sessions: int = 0
    entries: int = 0
    live: int = 0


_ENDED = """SELECT count(DISTINCT s.id), count(p.seq) FROM agent_sessions_agentsession s
 LEFT JOIN audit_payload p ON p.log = s.id
 WHERE s.team_id = %(team)s AND s.agent = %(agent)s AND s.channel = %(channel)s AND s.card <> ''
  AND s.ended_at <= %(new)s AND (%(old)s::timestamptz IS NULL OR s.ended_at > %(old)s)"""
_GOING_ON = """SELECT count(*) FROM agent_sessions_agentsession s
 WHERE s.team_id = %(team)s AND s.agent = %(agent)s AND s.channel = %(channel)s AND s.ended_at IS NULL
  AND s.opened_at < %(new)s"""


def loss(team: UUID, before: retention.Schedule, after: retention.Schedule) -> Loss:
    """Returns what goes in a team under `after` and would not go under `before`, legal holds aside."""
    found = Loss()
    groups = AgentSession.objects.filter(team=team).order_by("agent", "channel").values_list("agent", "channel")
    for agent, channel in groups.distinct():
        old, new = before.of(team, agent, channel), after.of(team, agent, channel)
        if new is None or (old is not None and old.days <= new.days):
            continue
        params = {"team": team, "agent": agent, "channel": channel, "new": now() - timedelta(days=new.days)}
        ended = ledger.run(_ENDED, {**params, "old": now() - timedelta(days=old.days) if old else None})[0]
        going_on = ledger.run(_GOING_ON, params)[0][0]
        found = Loss(found.sessions + ended[0], found.entries + ended[1], found.live + going_on)
    return found


def due(tenant: UUID, limit: int = 1_000, schedule: retention.Schedule | None = None) -> list[Due]:
    """The sessions with payloads that the rules in force, or those of `schedule`, would have deleted by now: the
    closed ones, those that ended first in front, then those that go on.
    """
    wanted = schedule or retention.schedule(tenant)
    closed = list(_closed_due(tenant, wanted, limit))
    return closed + list(islice(_live_due(tenant, wanted), limit - len(closed)))


def _closed_due(tenant: UUID, in_force: retention.Schedule, limit: int) -> Iterator[Due]:
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


# The sessions that go on, each with the envelope of its oldest entry that has a payload; the two that pruning itself
# wrote do not count, or a session at rest would be pruned of them again and again.
_LIVE = """SELECT s.id, s.team_id, s.agent, s.channel, oldest.seq, oldest.envelope, h.size,
  (SELECT count(*) FROM audit_keyedlog k WHERE k.log = s.id) > 1
  FROM agent_sessions_agentsession s JOIN audit_head h ON h.log = s.id AND NOT h.sealed,
  LATERAL (SELECT e.seq, e.envelope FROM audit_payload p JOIN audit_entry e USING (log, seq)
    WHERE p.log = s.id AND NOT position(%(recorded)s IN e.envelope) > 0 AND NOT position(%(pruned)s IN e.envelope) > 0
    ORDER BY p.seq LIMIT 1) AS oldest
  WHERE s.tenant_id = %(tenant)s AND s.ended_at IS NULL AND s.opened_at < %(before)s AND s.id > %(after)s
  ORDER BY s.id LIMIT %(page)s"""


def _live_due(tenant: UUID, in_force: retention.Schedule) -> Iterator[Due]:
    if not in_force.rules:
        return
    before, after = _cutoff(min((each.days for each in in_force.classes), default=0)), UUID(int=0)
    own = {"recorded": _said(recorded.KIND), "pruned": _said(PRUNED)}
    while rows := ledger.run(_LIVE, {**own, "tenant": tenant, "before": before, "after": after, "page": PAGE}):
        for session, team, agent, channel, oldest, envelope, size, others in rows:
            after = session
            term = in_force.of(team, agent, channel)
            if term is None or _at(bytes(envelope)) >= stamp(_cutoff(term.days)):
                continue
            upto = _older(session, stamp(_cutoff(term.days)), oldest, size)
            due_at = datetime.fromisoformat(_at(bytes(envelope))) + timedelta(days=term.days)
            _, held = _facts(session)
            yield Due(session, tenant, team, agent, channel, term.name, None, due_at, upto - oldest, held, upto, others)


def _said(kind: str) -> bytes:
    return f'"kind":"{kind}"'.encode()


def _cutoff(days: int) -> datetime:
    """What was written before this midnight (UTC) is over its term: so one session is due once a day at most."""
    return (now() - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)


def _at(envelope: bytes) -> str:
    return ledger.parse_envelope(envelope).at


def _older(session: UUID, cutoff: str, known: int, size: int) -> int:
    """How many entries were written before `cutoff`; entry `known` was. Times only grow along a log, but for a clock
    that was set back: then some stay a day longer.
    """
    low, high = known + 1, size
    while low < high:
        middle = (low + high) // 2
        (row,) = ledger.read_rows(session, middle, middle + 1)
        low, high = (middle + 1, high) if _at(row.envelope) < cutoff else (low, middle)
    return low


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
        if each.goes and _went_well(each):
            done[each.retention] = done.get(each.retention, 0) + 1
    if done:
        staff.record(tenant, now(), "retention.pruned", ledger.SYSTEM, "", {"sessions": done})
    return sum(done.values())


def _went_well(each: Due) -> bool:
    try:
        pruned_history(each) if each.upto else pruned(each)
    except Held:
        return False
    except Exception as error:
        log.error("session %s could not be pruned: %s", each.session, type(error).__name__)
        return False
    return True


def pruned(each: Due) -> None:
    """Prune one session: tombstone, ciphertexts, what was derived from them, and at last the card. Raises Held."""
    command = PrunePayloads(each.retention, stamp(each.due_at))
    guard = _not_held(each.session)
    with suppress(keys.Erased):  # pruned before by somebody who was killed, or erased meanwhile
        person_command(each.session, command, Author(ledger.SYSTEM), guard=guard)
    crash_points.point("after_pruning_entry")
    last = _tombstone_of(each.session)
    if last is not None:
        erasure.delete_range(each.session, 0, last - 1)
        crash_points.point("after_pruning")
        _forget(each.session)


def _not_held(session: UUID) -> Guard:
    """Returns the guard that no legal hold keeps the session. It fails with Held."""
    return Guard(ledger.Fragment(f"SELECT 1 WHERE NOT EXISTS ({_HELD})", {"h_log": session}), Held())


def pruned_history(each: Due) -> None:
    """Prune the oldest entries of a session that goes on. Raises Held, and what `states.as_of` and `decide` refuse."""
    session = each.session
    if recorded.upto(session) < each.upto:
        state = states.as_of(session, each.upto)
        kept = recorded.sealed(session, states.load(session).place.kid, state)
        command = PruneHistory(each.upto, kept.digest, kept.form, each.retention, stamp(each.due_at))
        guard = _not_held(session)
        person_command(session, command, Author(ledger.SYSTEM), guard=guard, extra_writes=[kept.row()])
    crash_points.point("after_pruning_entry")
    _history_gone(session, recorded.upto(session))


def _history_gone(session: UUID, upto: int) -> None:
    """What stands for the first `upto` entries is on record: they go, and what was derived from them alone."""
    kept = recorded.newest(session, states.load(session).place.kid, upto)
    if kept is None:
        raise recorded.Lost(str(session))
    over = ApprovalRequest.objects.filter(session=session, asked_seq__lt=upto)
    over.exclude(pk__in=[UUID(key) for key in kept.requests]).update(card=b"")
    Snapshot.objects.filter(pk=session, seq__lt=upto).delete()
    erasure.delete_range(session, 0, upto - 1)
    crash_points.point("after_pruning")
    recorded.forget_before(session, upto)


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
    RecordedState.objects.filter(session=session).delete()
    SnapshotPart.objects.filter(session=session).delete()
    ApprovalRequest.objects.filter(session=session).update(card=b"")
    AgentSession.objects.filter(pk=session).update(card=b"", ready_at=None, lease_until=None)
    states.forget(session)
