"""Shapes of what an agent remembers and of what a model was given."""

from __future__ import annotations

from typing import Any, get_args

from rest_framework import serializers

from agentstate.engine.conversation import ItemRole
from agentstate.engine.decide.memory import MOST_WHY
from agentstate.engine.memory.pins import How
from sessions.http.fields import ExactText, Key, Strict, choices
from sessions.http.values import ExactNumber

ITEM_ROLE = choices(get_args(ItemRole))
PIN_HOW = choices(get_args(How))
ASKED_KIND = choices(("model.requested", "summary.requested"))


class PinItem(Strict):
    """Which message to keep in its own words."""

    seq = ExactNumber(min_value=0, max_value=2**53, help_text="of the entry that brought it")
    why = ExactText(max_length=MOST_WHY, required=False)
    idempotency_key = Key()


class RateItem(Strict):
    """How much use a message is."""

    seq = ExactNumber(min_value=0, max_value=2**53, help_text="of the entry that brought it")
    rating = ExactNumber(min_value=-2, max_value=2, help_text="-2 of no use, 2 of much")
    why = ExactText(max_length=MOST_WHY, required=False)
    idempotency_key = Key()


class Reason(serializers.Serializer[Any]):
    rule = serializers.CharField()
    points = serializers.IntegerField()


class RememberedItem(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    role = serializers.ChoiceField(choices=ITEM_ROLE)
    text = serializers.CharField()
    tools = serializers.ListField(child=serializers.CharField(), help_text="that it calls, or whose result it is")
    at = serializers.CharField(help_text="empty for entries from before instants were kept with messages")
    turn = serializers.IntegerField(help_text="messages of the customer up to then")
    points = serializers.IntegerField(help_text="how much it matters now")
    full = serializers.IntegerField(help_text="how much it mattered when it came")
    why = Reason(many=True)
    rating = serializers.IntegerField()
    pinned = serializers.BooleanField()
    tokens = serializers.IntegerField()


class SummaryOfItems(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="of the entry that made it")
    first = serializers.IntegerField()
    last = serializers.IntegerField()
    kept = serializers.ListField(child=serializers.IntegerField(), help_text="entries of the range that are held raw")
    count = serializers.IntegerField(help_text="items that it stands for")
    covers = serializers.CharField(help_text="SHA-256 over what it stands for")
    method = serializers.CharField()
    text = serializers.CharField()


class PinnedItem(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    how = serializers.ChoiceField(choices=PIN_HOW)
    by = serializers.CharField()
    at = serializers.CharField()
    why = serializers.CharField()


class MemoryOfSession(serializers.Serializer[Any]):
    turn = serializers.IntegerField(help_text="messages of the customer so far")
    budget = serializers.IntegerField(help_text="tokens of a model request")
    counter = serializers.CharField()
    factor = serializers.IntegerField(help_text="thousandths: what the provider counts of the counter's tokens")
    tokens = serializers.IntegerField(help_text="of a request made now, by the counter")
    items = RememberedItem(many=True)
    summaries = SummaryOfItems(many=True)
    pins = PinnedItem(many=True)


class RequestOfStep(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    step = serializers.CharField()
    kind = serializers.ChoiceField(choices=ASKED_KIND)
    at = serializers.DateTimeField()
    model = serializers.CharField()
    digest = serializers.CharField(help_text="as it was recorded when the model was asked")
    matches = serializers.BooleanField(help_text="whether `request` has this digest")
    form = serializers.CharField()
    definition = serializers.CharField(help_text="SHA-256 of the agent's instructions and tools then")
    counter = serializers.CharField()
    budget = serializers.IntegerField()
    factor = serializers.IntegerField()
    tokens = serializers.DictField(child=serializers.IntegerField(), help_text="by part, before the factor")
    items = serializers.ListField(child=serializers.IntegerField(), help_text="entries shown in their own words")
    summaries = SummaryOfItems(many=True)
    request = serializers.CharField(help_text="the exact bytes, as text; SHA-256 of its UTF-8 is the digest")
    body = serializers.DictField(help_text="what a chat model is sent of it: messages and tools")
    earlier = serializers.IntegerField(help_text="seq of the step before, or -1")
    later = serializers.IntegerField(help_text="seq of the step after, or -1")
