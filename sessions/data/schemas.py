"""Shapes of data messages and of what they have made."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.http.fields import ExactChoice, ExactText, Key, Strict
from sessions.http.values import Anything, AnyValue

MESSAGE_TYPE = [("data", "data")]
_KIND = 41
_NAME = 120


class AddData(Strict):
    """A data message in the notation of the plan protocol."""

    type = ExactChoice(choices=MESSAGE_TYPE)
    kind = ExactText(max_length=_KIND, required=False, help_text="a lower-case word; none of state and input")
    schema = AnyValue(required=False, help_text="a JSON Schema (2020-12) that holds from now on")
    data = AnyValue(help_text="merged into what the kind holds: objects by key, anything else replaced")  # type: ignore[assignment]
    _instance = ExactText(max_length=_NAME, required=False, help_text="for this instance alone")
    idempotency_key = Key()


class DataObject(serializers.Serializer[Any]):
    kind = serializers.CharField()
    instance = serializers.CharField(help_text="empty: the session itself")
    value = Anything(help_text="private values only for those who may unmask")
    schema = Anything(help_text="null: anything may be written")
    by = serializers.CharField(help_text="who sent the newest message")


class DataObjects(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    objects = DataObject(many=True)
