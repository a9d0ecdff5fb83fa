"""The versions of a session: checkpoints, rollback, forks, differences."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine.decide.versions import Consequences
from agentstate.engine.versions.replay import CallReplayed, Input
from agentstate.errors import Invalid
from sessions.conversation import schemas as conversation_schemas
from sessions.core import session_lines
from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import LAST, READING, SESSION, WRITING, answer, answers, receipt, shown, valid
from sessions.http.parameters import Parameters, identifier
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.versions import replays
from sessions.versions import schemas as forms

_SEQ = {"type": "integer", "minimum": 1, "maximum": LAST}
_FROM = OpenApiParameter("from", {**_SEQ, "default": 1}, description="the state after so many entries")
_TO = OpenApiParameter("to", _SEQ, description="the state after so many entries; without it, as it is now")
_OTHER = OpenApiParameter("other", UUID, description="`to` is of this session: a fork, or a parent")


def _session(text: str) -> UUID:
    return identifier(text, UnknownSession)


class Checkpoints(APIView):
    """Points to go back to."""

    @extend_schema(
        operation_id="list_checkpoints",
        parameters=[SESSION],
        responses=answers(200, forms.Versions, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        line = versions_queries.versions_of(request.user, _session(session))
        body = shown(forms.Versions, line)
        body["checkpoints"] = [shown(forms.Checkpoint, each) for each in line.checkpoints]
        return Response(body)

    @extend_schema(
        operation_id="name_checkpoint",
        parameters=[SESSION],
        request=forms.NameCheckpoint,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.NameCheckpoint, request)
        return receipt(versions_commands.name_checkpoint(request.user, _session(session), **wanted))


class Rollback(APIView):
    """Go back to any point of a session."""

    @extend_schema(
        operation_id="roll_back",
        description="Without `confirm`: what going back would do, and what it would not undo. With it: go back.",
        parameters=[SESSION],
        request=forms.Rollback,
        responses={**answers(200, forms.Consequences, *WRITING, 410), (201, "application/json"): values.Receipt},
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.Rollback, request)
        if "confirm" not in wanted:
            return Response(_told(versions_queries.rollback_preview(request.user, _session(session), wanted["to"])))
        if "reason" not in wanted:
            raise Invalid("say why", field="reason")
        return receipt(
            versions_commands.roll_back(
                request.user,
                _session(session),
                wanted["to"],
                seen=wanted["confirm"],
                reason=wanted["reason"],
                key=wanted["key"],
            )
        )


def _told(found: Consequences) -> dict[str, Any]:
    return {
        "to": found.to,
        "digest": found.digest,
        "withdrawn": list(found.withdrawn),
        "running": list(found.running),
        "not_begun": list(found.not_begun),
        "standing_approvals": list(found.since.approvals),
        "lasting": [shown(forms.Effect, effect) for effect in found.since.lasting],
        "more": found.since.more,
    }


class Fork(APIView):
    """Try another way."""

    @extend_schema(
        operation_id="fork_session",
        description="A session of its own that begins as this one stood. It reads and drafts; it speaks and acts once"
        " it is promoted.",
        parameters=[SESSION],
        request=forms.ForkSession,
        responses=answers(201, conversation_schemas.Session, *WRITING, 410),
    )
    def post(self, request: Request, session: str) -> Response:
        committed = versions_commands.fork(request.user, _session(session), **valid(forms.ForkSession, request))
        response = answer(
            committed, shown(conversation_schemas.Session, session_lines.opening(committed, request.user)), 201
        )
        response["Location"] = f"{request.path.rpartition('/sessions/')[0]}/sessions/{committed.session}"
        return response


class Promote(APIView):
    """Let a fork take its parent's place."""

    @extend_schema(
        operation_id="promote_fork",
        description="In one transaction the parent ends and the fork may speak and act.",
        parameters=[SESSION],
        request=forms.PromoteFork,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        return receipt(versions_commands.promote(request.user, _session(session), **valid(forms.PromoteFork, request)))


class Replay(APIView):
    """What would have happened."""

    @extend_schema(
        operation_id="replay_session",
        description="Under another policy, or with other inputs. Nothing is run, asked or written.",
        parameters=[SESSION],
        request=forms.Replay,
        responses=answers(200, forms.Replayed, *WRITING, 410),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.Replay, request)
        del wanted["key"]
        inputs = [Input(**each) for each in wanted.pop("inputs", ())]
        line = replays.replayed(request.user, _session(session), inputs=inputs, **wanted)
        found = line.found
        return Response(
            {
                "policy": line.policy,
                "calls": [_call(call) for call in line.differing],
                "from_seq": found.from_seq,
                "not_needed": found.not_needed,
                "not_made": found.not_made,
                "left_out": found.left_out,
                "patch": line.difference.patch,
                "sentences": line.sentences,
            }
        )


def _call(call: CallReplayed) -> dict[str, Any]:
    told = shown(forms.ReplayedCall, call)
    return told | {name: shown(forms.ReplayedGate, getattr(call, name)) for name in ("recorded", "replayed")}


class Diff(APIView):
    """How two states differ."""

    @extend_schema(
        operation_id="compare_states",
        parameters=[SESSION, _FROM, _TO, _OTHER],
        responses=answers(200, forms.Difference, *READING, 410),
    )
    def get(self, request: Request, session: str) -> Response:
        given = Parameters(request, "from", "to", "other")
        start = given.whole("from", 1, 1, LAST)
        end = given.whole("to", -1, 1, LAST)
        found = versions_queries.state_difference(request.user, _session(session), start, end, given.id("other"))
        return Response({"patch": found.found.patch, "sentences": found.sentences})
