"""A session's state, changes to it, and the conflicts that come of them."""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework.response import Response

from agentstate.engine import events as ev
from agentstate.engine.merge.three_way import PathChange
from agentstate.people.models import User
from sessions.core import states
from sessions.core.committed import Committed
from sessions.http.answers import answer, filled, receipt_headers, receipt_of
from sessions.http.bodies import arguments
from sessions.http.operations import SESSION, WRITING, command, get, post
from sessions.http.parameters import LAST, Kind, SessionId, Text
from sessions.state import commands, queries
from sessions.state import schemas as forms

CONFLICT: Mapping[str, Kind] = {**SESSION, "conflict": Text(most=LAST)}


@get()
def read_state(user: User, session: SessionId) -> queries.StateLine:
    """Read and change the scratchpad."""
    return queries.state_line(user, session)


@post(codes=(*WRITING, 410), shape=forms.Changed)
def change_state(user: User, session: SessionId, body: forms.ChangeState) -> Response:
    """Merged with what others have changed meanwhile: by the declared type of each path; what clashes is refused, or
    opens a conflict.
    """
    wanted = arguments(body)
    wanted["changes"] = [PathChange(**arguments(change)) for change in body.changes]
    committed = commands.change_state(user, session, **wanted)
    return answer(_changed(committed), 201, receipt_headers(committed))


def _changed(committed: Committed) -> forms.Changed:
    stored = states.events_since(committed.session, committed.first, committed.seq)
    events = [event for _, event in stored] if committed.repeated else list(committed.events)
    writes = [write for event in events if isinstance(event, ev.StateChanged) for write in event.writes]
    opened = [event.conflict for event in events if isinstance(event, ev.ConflictOpened)]
    return filled(forms.Changed, receipt_of(committed), written=writes, conflicts=opened)


@get()
def list_conflicts(user: User, session: SessionId) -> forms.ConflictList:
    """What is contested."""
    return forms.ConflictList(queries.conflicts(user, session))


propose_value = command("propose_value", commands.propose_value, forms.ProposeValue, "Propose a value.", path=CONFLICT)
cast_vote = command(
    "cast_vote",
    commands.cast_vote,
    forms.CastVote,
    "A quorum of votes for one value settles a conflict whose rule is a vote. A later vote replaces.",
    path=CONFLICT,
)
settle_conflict = command(
    "settle_conflict",
    commands.settle,
    forms.Settle,
    "By a person who may decide and has proposed nothing here.",
    path=CONFLICT,
)
