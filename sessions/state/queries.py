"""A session's state as those see it who may change it, and the conflicts that wait in it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine.merge.kept import Conflict
from agentstate.people.permissions import can
from agentstate.people.roles import Permission
from sessions.core import states, visibility
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person


class StateLine(msgspec.Struct, frozen=True):
    """The scratchpad after `seq` entries, and the schema that it is of."""

    seq: int
    schema: str
    state: dict[str, Any]
    may_change: bool


class ProposalLine(msgspec.Struct, frozen=True):
    """One value for a contested path; the one without an id is what stands. A value is in a list, or the list empty."""

    id: str
    by: str
    value: list[Any]
    reason: str
    votes: int


class ConflictLine(msgspec.Struct, frozen=True):
    """A contested path and what is proposed for it."""

    id: str
    path: str
    rule: str
    quorum: int
    status: str
    at: str
    base: list[Any]
    proposals: list[ProposalLine]
    chosen: str
    by: str
    may_settle: bool


def state_line(user: Person, session: UUID) -> StateLine:
    """What a change is made on. Private values only for those who may unmask. Raises as `state_of`."""
    team = must_read(user, session)
    state = visibility.shown_state(user, session, team, states.load(session).state)
    return StateLine(state.seq, state.schema.reference, state.pad, can(user, Permission.CHANGE_STATE, team))


def conflicts(user: Person, session: UUID) -> list[ConflictLine]:
    """The conflicts that wait, oldest first, then those that ended lately. Raises as `state_of`."""
    team = must_read(user, session)
    state = visibility.shown_state(user, session, team, states.load(session).state)
    entitled = can(user, Permission.DECIDE, team) and can(user, Permission.CHANGE_STATE, team) and not state.ended
    actor = getattr(user, "actor", "")
    every = sorted(state.changes.conflicts.values(), key=lambda each: each.status != "open")
    return [_line(each, entitled and actor not in {proposal.by for proposal in each.proposals}) for each in every]


def _line(conflict: Conflict, entitled: bool) -> ConflictLine:
    values = [("", "", conflict.standing, ""), *((p.id, p.by, p.value, p.reason) for p in conflict.proposals)]
    return ConflictLine(
        id=conflict.id,
        path=conflict.path,
        rule=conflict.rule,
        quorum=conflict.quorum,
        status=conflict.status,
        at=conflict.at,
        base=list(conflict.base),
        proposals=[
            ProposalLine(key, by, list(value), reason, conflict.votes_for(key)) for key, by, value, reason in values
        ],
        chosen=conflict.chosen,
        by=conflict.by,
        may_settle=entitled and conflict.status == "open",
    )
