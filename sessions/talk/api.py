"""What a conversation is about: topics and turns, entities, and what a sentence refers to."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier
from sessions.talk import commands
from sessions.talk import schemas as forms
from sessions.talk.queries import ReferenceLine, resolve_in, talk_of


def _session(text: str) -> UUID:
    return identifier(text, UnknownSession)


def _references(found: tuple[ReferenceLine, ...]) -> list[dict[str, Any]]:
    return [{**msgspec.structs.asdict(line.found), "ask": line.ask} for line in found]


class Topics(APIView):
    """The topics of a conversation."""

    @extend_schema(
        operation_id="list_topics",
        description="The topics, with the turns that were about each.",
        parameters=[SESSION],
        responses=answers(200, forms.TopicList, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        found = talk_of(request.user, _session(session))
        topics = [
            {**shown(forms.TopicOfTalk, topic), "turns": [shown(forms.TurnOfTalk, turn) for turn in topic.turns]}
            for topic in found.topics
        ]
        return Response({"topic": found.topic, "topics": topics, "open_questions": list(found.open_questions)})

    @extend_schema(
        operation_id="set_topic",
        description="Open a topic, switch the newest turn to another, resume one that was left, or close one.",
        parameters=[SESSION],
        request=forms.ChangeTopic,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        return receipt(commands.set_topic(request.user, _session(session), **valid(forms.ChangeTopic, request)))


class Entities(APIView):
    """What is spoken of."""

    @extend_schema(
        operation_id="list_entities",
        description="What is known and spoken of, the latest first; and what the customer's newest message refers to.",
        parameters=[SESSION],
        responses=answers(200, forms.EntityList, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        found = talk_of(request.user, _session(session))
        entities = [shown(forms.EntityOfTalk, entity) for entity in found.entities]
        heard = _references(found.references)
        return Response({"entities": entities, "heard_seq": found.heard_seq, "references": heard})


class References(APIView):
    """Put a reference right."""

    @extend_schema(
        operation_id="correct_reference",
        description="Say what a phrase of the customer means. The agent is told so from then on.",
        parameters=[SESSION],
        request=forms.PutRight,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        return receipt(commands.correct_reference(request.user, _session(session), **valid(forms.PutRight, request)))


class Resolve(APIView):
    """What a sentence would refer to."""

    @extend_schema(
        operation_id="resolve_text",
        description="What the sentence would refer to if the customer said it now. Nothing is recorded.",
        parameters=[SESSION],
        request=forms.ResolveText,
        responses=answers(200, forms.ReferenceList, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.ResolveText, request)
        return Response({"references": _references(resolve_in(request.user, _session(session), wanted["text"]))})
