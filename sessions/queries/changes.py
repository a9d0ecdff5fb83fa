"""A session's state as those see it who may change it, and the conflicts that wait in it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.decide.schema import in_force
from agentstate.engine.merge.kept import Conflict
from agentstate.engine.schemas.declared import Declared
from agentstate.engine.schemas.reads import without_private
from agentstate.engine.state import SessionState
from agentstate.people.permissions import can
from agentstate.people.roles import Permission
from sessions import access, states
from sessions.access import Seen
from sessions.agents.registry import given_for
from sessions.queries.entry_lines import must_read
from sessions.queries.session_lines import Person

HIDDEN = "private"


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
    state = states.load(session).state
    return StateLine(
        state.seq,
        state.schema.reference,
        shown_pad(user, session, team, state),
        can(user, Permission.CHANGE_STATE, team),
    )


def shown_pad(user: Person, session: UUID, team: UUID, state: SessionState) -> dict[str, Any]:
    """The scratchpad, private values hidden from those who may not unmask; that others see them is noted."""
    if state.opened is None:
        return state.pad
    masked = without_private(in_force(state, given_for(state.opened.agent, now())), state.pad, HIDDEN)
    if masked == state.pad or not access.may(user, Permission.UNMASK, session, team):
        return masked
    access.note(user, "private", [Seen(session, team)])
    return state.pad


def shown_basis(
    user: Person, session: UUID, team: UUID, state: SessionState, basis: tuple[ev.Evidence, ...]
) -> tuple[list[tuple[str, Any]], list[str]]:
    """What a request rests on, by path, and the paths whose values are hidden from those who may not unmask; that
    others see them is noted.
    """
    found = [(each.path, each.value) for each in basis]
    if state.opened is None:
        return found, []
    declared = in_force(state, given_for(state.opened.agent, now()))
    open_ones = [(path, _open_at(declared, path, value)) for path, value in found]
    hidden = [path for (path, value), (_, open_one) in zip(found, open_ones, strict=True) if value != open_one]
    if not hidden or not access.may(user, Permission.UNMASK, session, team):
        return open_ones, hidden
    access.note(user, "private", [Seen(session, team)])
    return found, []


def _open_at(declared: Declared | None, path: str, value: Any) -> Any:
    """What of a value is not private where it stands in the state."""
    return scratchpad.read(without_private(declared, scratchpad.write({}, path, value), HIDDEN), path)


def conflicts(user: Person, session: UUID) -> list[ConflictLine]:
    """The conflicts that wait, oldest first, then those that ended lately. Raises as `state_of`."""
    team = must_read(user, session)
    state = states.load(session).state
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
