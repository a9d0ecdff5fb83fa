"""Shapes of a customer's profile, and of what its subject, or staff on their behalf, ask of it."""

from __future__ import annotations

from typing import Any, get_args

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agentstate.engine.profile.decide import MAX_NOTE
from agentstate.engine.profile.events import KINDS, Part
from sessions.http.fields import ExactChoice, ExactFlag, ExactText, Key, Strict, choices

PROFILE_PART = choices(get_args(Part))
PROFILE_KIND = choices(KINDS)
NAME = 40  # characters of a declared name


@extend_schema_field({"type": ["boolean", "integer", "string", "object"]})
class AnyValue(serializers.Field[Any, Any, Any, Any]):
    """A value as it was sent; whether it is one of the preference, as its `kind` says, is decided with the command."""

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class Consent(Strict):
    """Whether the customer agrees to be known for a purpose. Withdrawing forgets what is held for it."""

    purpose = ExactText(max_length=NAME)
    agreed = ExactFlag()
    note = ExactText(max_length=MAX_NOTE, required=False, allow_blank=True, help_text="how that is known")
    idempotency_key = Key()


class Setting(Strict):
    """What the customer wants; null takes it back."""

    preference = ExactText(max_length=NAME)
    value = AnyValue(allow_null=True)
    idempotency_key = Key()


class Feedback(Strict):
    """Whether a value fits the customer."""

    preference = ExactText(max_length=NAME)
    value = AnyValue()
    fits = ExactFlag()
    idempotency_key = Key()


class Correction(Strict):
    """What is right instead of what was learned."""

    preference = ExactText(max_length=NAME)
    value = AnyValue()
    idempotency_key = Key()


class Refusal(Strict):
    """What must not be learned: a preference, or one value of it. With `allowed` it may be again."""

    preference = ExactText(max_length=NAME)
    value = AnyValue(required=False)
    allowed = ExactFlag(required=False)
    idempotency_key = Key()


class Forget(Strict):
    """What is to be forgotten; `everything` has no name."""

    part = ExactChoice(choices=PROFILE_PART)
    name = ExactText(max_length=NAME, required=False, allow_blank=True)
    idempotency_key = Key()


class ProfileReceipt(serializers.Serializer[Any]):
    customer = serializers.UUIDField()
    command = serializers.UUIDField()
    first = serializers.IntegerField(help_text="seq of the first entry that the command wrote")
    seq = serializers.IntegerField(help_text="entries of the profile after the command")


class Source(serializers.Serializer[Any]):
    session = serializers.CharField(help_text="empty for feedback")
    seq = serializers.IntegerField(help_text="the entry that it is known from")
    at = serializers.DateTimeField()
    rule = serializers.CharField()
    why = serializers.CharField()
    weight = serializers.IntegerField(help_text="below zero it speaks against the value")


class LearnedValue(serializers.Serializer[Any]):
    value = AnyValue()
    confidence = serializers.FloatField(help_text="0 to 1; it falls while nothing new comes")
    count = serializers.IntegerField(help_text="how often anything spoke of it")
    sources = Source(many=True)  # type: ignore[assignment]


class Said(serializers.Serializer[Any]):
    value = AnyValue()
    purpose = serializers.CharField()
    at = serializers.DateTimeField()
    by = serializers.CharField(help_text="customer, or user:<id> on their behalf")
    corrects = serializers.BooleanField(help_text="it took the place of what was learned")


class Preference(serializers.Serializer[Any]):
    name = serializers.CharField()
    words = serializers.CharField()
    purpose = serializers.CharField()
    kind = serializers.DictField(help_text="what values are possible")
    counts = AnyValue(allow_null=True, help_text="the value that counts now; null: none")
    said = serializers.BooleanField(help_text="whether the customer said so; else it was learned")
    confidence = serializers.FloatField(allow_null=True)
    setting = Said(allow_null=True)
    learned = LearnedValue(many=True)
    refused = serializers.BooleanField(help_text="whether it must not be learned")
    refused_values = serializers.ListField(child=AnyValue())
    learnable = serializers.BooleanField(help_text="whether any rule learns it from what happens in sessions")
    threshold = serializers.IntegerField(help_text="percent of confidence from which a learned value counts")
    half_life = serializers.IntegerField(help_text="days in which what was learned loses half of its weight")


class Purpose(serializers.Serializer[Any]):
    name = serializers.CharField()
    words = serializers.CharField()
    required = serializers.BooleanField(  # type: ignore[assignment]  # a name that DRF has for something else
        help_text="part of the contract: it rests on no consent"
    )
    agreed = serializers.BooleanField()
    at = serializers.CharField(help_text="since when; empty where nothing was said")
    by = serializers.CharField()
    note = serializers.CharField()


class HistoryRecord(serializers.Serializer[Any]):
    values = serializers.DictField()
    times = serializers.IntegerField()
    session = serializers.CharField()
    seq = serializers.IntegerField(help_text="the newest entry that it is known from")
    at = serializers.DateTimeField()


class History(serializers.Serializer[Any]):
    name = serializers.CharField()
    words = serializers.CharField()
    purpose = serializers.CharField()
    records = HistoryRecord(many=True)


class Profile(serializers.Serializer[Any]):
    customer = serializers.UUIDField()
    name = serializers.CharField()
    declared = serializers.CharField(help_text="the declaration of what may be known, and its version")
    seq = serializers.IntegerField(help_text="entries of the profile so far")
    at = serializers.DateTimeField(help_text="when confidence was reckoned")
    purposes = Purpose(many=True)
    preferences = Preference(many=True)
    histories = History(many=True)
    adapted = serializers.ListField(
        child=serializers.CharField(), help_text="the declared mappings that apply to an agent's next step"
    )
    may_keep = serializers.BooleanField(help_text="whether you may change it")
    needs_others = serializers.BooleanField(help_text="what you change waits for other teams that serve the customer")
    outstanding = serializers.BooleanField(help_text="parts are known from sessions that you may not read: left out")


class ProfileEntry(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=PROFILE_KIND)
    at = serializers.DateTimeField()
    actor = serializers.CharField(help_text="user:<id> or system")
    ref = serializers.IntegerField()
    command = serializers.UUIDField()
    data = serializers.DictField(  # type: ignore[assignment]  # a name that DRF has for something else
        allow_null=True
    )


class ProfileEntryPage(serializers.Serializer[Any]):
    entries = ProfileEntry(many=True)
    next = serializers.IntegerField(allow_null=True, help_text="`after` of the next page; null on the last")
