"""A session's state as those see it who may change it, and the conflicts that wait in it."""

from __future__ import annotations

from typing import Annotated, Any, get_args
from uuid import UUID

import msgspec

from agentstate.engine.merge.kept import Conflict, Standing
from agentstate.engine.merge.rules import ClashRule
from agentstate.people.permissions import can
from agentstate.people.roles import Permission
from sessions.core import states, visibility
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person
from sessions.http.answers import PageOnly
from sessions.http.bodies import About, Words

CLASH_RULE = [rule for rule in get_args(ClashRule) if rule != "refuse"]
CONFLICT_STATUS = list(get_args(Standing))


class StateLine(msgspec.Struct, frozen=True):
    """The scratchpad after `seq` entries, and the schema that it is of."""

    seq: Annotated[int, About("what a change names as `seen`")]
    schema: Annotated[str, About("name@version, or empty where nothing is declared")]
    state: Annotated[dict[str, Any], About("the scratchpad; private values only for those who may unmask")]
    may_change: PageOnly[bool]


class ProposalLine(msgspec.Struct, frozen=True):
    """One value for a contested path; the one without an id is what stands. A value is in a list, or the list empty."""

    id: Annotated[str, About("empty: what stands")]
    by: str
    value: Annotated[list[Any], About("the value alone in a list; empty: none")]
    reason: str
    votes: int


class ConflictLine(msgspec.Struct, frozen=True):
    """A contested path and what is proposed for it."""

    id: str
    path: str
    rule: Annotated[str, Words(CLASH_RULE)]
    quorum: Annotated[int, About("votes for one value that settle a vote")]
    status: Annotated[str, Words(CONFLICT_STATUS)]
    at: Annotated[str, About(format="date-time")]
    base: Annotated[list[Any], About("the value that the change was made on")]
    proposals: list[ProposalLine]
    chosen: Annotated[str, About("id of the proposal that holds, or empty")]
    by: Annotated[str, About("who settled it, or empty")]
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
