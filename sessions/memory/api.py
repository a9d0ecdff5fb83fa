"""What an agent remembers: items, summaries, pins and ratings; and what a model was given at a step."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine.memory.pins import NotPinned
from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier
from sessions.memory import commands
from sessions.memory import schemas as forms
from sessions.memory.queries import memory_of
from sessions.memory.steps import StepRequest, step_request

_SEQ = OpenApiParameter("seq", {"type": "integer", "minimum": 0}, OpenApiParameter.PATH)
_STEP = OpenApiParameter("step", str, OpenApiParameter.PATH, description="its id, or the seq of its entry")


def _session(text: str) -> UUID:
    return identifier(text, UnknownSession)


class Memory(APIView):
    """What the agent remembers of a session."""

    @extend_schema(
        operation_id="read_memory",
        description="Every message that is held in its own words, with how much it matters and why; and the summaries.",
        parameters=[SESSION],
        responses=answers(200, forms.MemoryOfSession, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        found = memory_of(request.user, _session(session))
        body = shown(forms.MemoryOfSession, found)
        body["items"] = [
            {**shown(forms.RememberedItem, item), "why": [shown(forms.Reason, why) for why in item.why]}
            for item in found.items
        ]
        body["summaries"] = [shown(forms.SummaryOfItems, summary) for summary in found.summaries]
        body["pins"] = [shown(forms.PinnedItem, pin) for pin in found.pins]
        return Response(body)


class Pins(APIView):
    """Keep a message in its own words."""

    @extend_schema(
        operation_id="pin_message",
        parameters=[SESSION],
        request=forms.PinItem,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        return receipt(commands.pin(request.user, _session(session), **valid(forms.PinItem, request)))


class OnePin(APIView):
    """Let a message be summarised again."""

    @extend_schema(
        operation_id="unpin_message", parameters=[SESSION, _SEQ], responses=answers(200, values.Receipt, *WRITING)
    )
    def delete(self, request: Request, session: str, seq: str) -> Response:
        found = _session(session)
        if not (seq.isascii() and seq.isdigit() and len(seq) < 16):
            raise NotPinned()
        return receipt(commands.unpin(request.user, found, int(seq)), 200)


class Ratings(APIView):
    """Say how much use a message is."""

    @extend_schema(
        operation_id="rate_message",
        parameters=[SESSION],
        request=forms.RateItem,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        return receipt(commands.rate(request.user, _session(session), **valid(forms.RateItem, request)))


class StepRequestOf(APIView):
    """What a model was given."""

    @extend_schema(
        operation_id="read_step_request",
        description="The request of a step, made again from the ledger and compared with the digest recorded then.",
        parameters=[SESSION, _STEP],
        responses=answers(200, forms.RequestOfStep, *READING, 409, 410),
    )
    def get(self, request: Request, session: str, step: str) -> Response:
        return Response(_told(step_request(request.user, _session(session), step)))


def _told(found: StepRequest) -> dict[str, Any]:
    body = shown(forms.RequestOfStep, found)
    body["summaries"] = [shown(forms.SummaryOfItems, summary) for summary in found.summaries]
    return body
