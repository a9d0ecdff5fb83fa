"""Shapes of what a conversation is about: topics, turns, entities, references."""

from __future__ import annotations

from typing import Any, get_args

from rest_framework import serializers

from agentstate.engine.decide import MAX_TEXT
from agentstate.engine.decide.commands.conversation import TopicChange
from agentstate.engine.decide.talk import MOST_MEANT
from agentstate.engine.understanding.held import Found
from agentstate.engine.understanding.topics import LONGEST_NAME
from sessions.http.fields import ExactChoice, ExactText, Key, ShortList, Strict, choices
from sessions.http.values import ExactNumber

TOPIC_CHANGE = choices(get_args(TopicChange))
TOPIC_STATUS = choices(("open", "left", "closed"))
REFERENCE_FOUND = choices(get_args(Found))
MAX_ID = 120  # characters of an entity's id


class ChangeTopic(Strict):
    """Which topic, and what of it."""

    topic = ExactText(max_length=LONGEST_NAME, help_text="its name")
    change = ExactChoice(choices=TOPIC_CHANGE)
    label = ExactText(  # type: ignore[assignment]  # a name that DRF has for something else
        max_length=LONGEST_NAME, required=False, allow_blank=True, help_text="how people call it"
    )
    idempotency_key = Key()


class PutRight(Strict):
    """What a phrase of a message means."""

    seq = ExactNumber(min_value=0, max_value=2**53, help_text="of the entry of the message")
    mention = ExactText(max_length=200, help_text="the phrase, as it stands in the message")
    entities = ShortList(
        child=ExactText(max_length=MAX_ID), max_length=MOST_MEANT, help_text="ids; empty: nothing that is known"
    )
    idempotency_key = Key()


class ResolveText(Strict):
    """What the customer might say."""

    text = ExactText(max_length=MAX_TEXT)


class TurnOfTalk(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    by = serializers.CharField()
    first = serializers.IntegerField(help_text="seq of its first message")
    last = serializers.IntegerField()
    at = serializers.CharField()


class TopicOfTalk(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    status = serializers.ChoiceField(choices=TOPIC_STATUS)
    current = serializers.BooleanField()
    resumed = serializers.IntegerField(help_text="times it was taken up again")
    turns = TurnOfTalk(many=True)


class TopicList(serializers.Serializer[Any]):
    topic = serializers.CharField(help_text="the current one, or empty")
    topics = TopicOfTalk(many=True)
    open_questions = serializers.ListField(child=serializers.CharField(), help_text="asked, and not answered yet")


class EntityOfTalk(serializers.Serializer[Any]):
    id = serializers.CharField()
    type = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    attributes = serializers.DictField()
    mentioned = serializers.IntegerField(help_text="number of the turn that spoke of it last, or 0")


class Reference(serializers.Serializer[Any]):
    mention = serializers.CharField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    found = serializers.ChoiceField(choices=REFERENCE_FOUND)
    entities = serializers.ListField(child=serializers.CharField(), help_text="what is meant, or the candidates")
    why = serializers.ListField(child=serializers.CharField())
    ask = serializers.CharField(help_text="the question that would settle it, or empty")
    negated = serializers.BooleanField()


class EntityList(serializers.Serializer[Any]):
    entities = EntityOfTalk(many=True)
    heard_seq = serializers.IntegerField(help_text="entry of the customer's newest message, or -1")
    references = Reference(many=True)


class ReferenceList(serializers.Serializer[Any]):
    references = Reference(many=True)
