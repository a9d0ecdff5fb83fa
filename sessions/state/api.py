"""A session's state, changes to it, and the conflicts that come of them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine import events as ev
from agentstate.engine.merge.three_way import PathChange
from sessions.core import states
from sessions.core.committed import Committed
from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import READING, SESSION, WRITING, answer, answers, receipt, shown, told, valid
from sessions.http.parameters import identifier
from sessions.state import commands as state_commands
from sessions.state import queries as state_queries
from sessions.state import schemas as forms

_CONFLICT = OpenApiParameter("conflict", str, OpenApiParameter.PATH)


def _session(text: str) -> UUID:
    return identifier(text, UnknownSession)


class State(APIView):
    """Read and change the scratchpad."""

    @extend_schema(
        operation_id="read_state", parameters=[SESSION], responses=answers(200, forms.SessionState, *READING)
    )
    def get(self, request: Request, session: str) -> Response:
        return Response(shown(forms.SessionState, state_queries.state_line(request.user, _session(session))))

    @extend_schema(
        operation_id="change_state",
        description="Merged with what others have changed meanwhile: by the declared type of each path; what clashes is"
        " refused, or opens a conflict.",
        parameters=[SESSION],
        request=forms.ChangeState,
        responses=answers(201, forms.Changed, *WRITING, 410),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.ChangeState, request)
        wanted["changes"] = [PathChange(**change) for change in wanted["changes"]]
        committed = state_commands.change_state(request.user, _session(session), **wanted)
        return answer(committed, _changed(committed), 201)


def _changed(committed: Committed) -> dict[str, Any]:
    stored = states.events_since(committed.session, committed.first, committed.seq)
    events = [event for _, event in stored] if committed.repeated else list(committed.events)
    writes = [write for event in events if isinstance(event, ev.StateChanged) for write in event.writes]
    return {
        **told(committed),
        "written": [{"path": each.path, "how": each.how, "lost": list(each.lost)} for each in writes],
        "conflicts": [event.conflict for event in events if isinstance(event, ev.ConflictOpened)],
    }


class Conflicts(APIView):
    """What is contested."""

    @extend_schema(
        operation_id="list_conflicts", parameters=[SESSION], responses=answers(200, forms.ConflictList, *READING)
    )
    def get(self, request: Request, session: str) -> Response:
        lines = state_queries.conflicts(request.user, _session(session))
        return Response({"conflicts": [_told(line) for line in lines]})


def _told(line: state_queries.ConflictLine) -> dict[str, Any]:
    told = shown(forms.Conflict, line)
    told["proposals"] = [shown(forms.Proposal, each) for each in line.proposals]
    return told


class Proposals(APIView):
    """Propose a value."""

    @extend_schema(
        operation_id="propose_value",
        parameters=[SESSION, _CONFLICT],
        request=forms.ProposeValue,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str, conflict: str) -> Response:
        wanted = valid(forms.ProposeValue, request)
        return receipt(state_commands.propose_value(request.user, _session(session), conflict, **wanted))


class Votes(APIView):
    """Vote."""

    @extend_schema(
        operation_id="cast_vote",
        description="A quorum of votes for one value settles a conflict whose rule is a vote. A later vote replaces.",
        parameters=[SESSION, _CONFLICT],
        request=forms.CastVote,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str, conflict: str) -> Response:
        wanted = valid(forms.CastVote, request)
        return receipt(state_commands.cast_vote(request.user, _session(session), conflict, **wanted))


class Settlement(APIView):
    """Settle as the arbiter."""

    @extend_schema(
        operation_id="settle_conflict",
        description="By a person who may decide and has proposed nothing here.",
        parameters=[SESSION, _CONFLICT],
        request=forms.Settle,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str, conflict: str) -> Response:
        wanted = valid(forms.Settle, request)
        return receipt(state_commands.settle(request.user, _session(session), conflict, **wanted))
