"""Shapes of what can be undone, and of the order to do so."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agentstate.engine.decide.compensation import MAX_REASON, MAX_STEPS
from sessions.http.fields import ExactText, Key, ShortList, Strict
from sessions.http.values import ExactNumber

MAX_CALL = 200  # characters of a call's id


class Compensate(Strict):
    """Which effects, and why."""

    rollback = ExactNumber(min_value=0, help_text="the entry of the rollback that left them standing")
    calls = ShortList(child=ExactText(max_length=MAX_CALL), max_length=MAX_STEPS, required=False)
    reason = ExactText(max_length=MAX_REASON)
    idempotency_key = Key()


class UndoableEffect(serializers.Serializer[Any]):
    call = serializers.CharField()
    tool = serializers.CharField()
    seq = serializers.IntegerField(help_text="the entry of its intent")
    what = serializers.CharField(help_text="what was done, in the tool's words")
    undo = serializers.CharField(help_text="what would be done to undo it")


class UndoableEffects(serializers.Serializer[Any]):
    rollback = serializers.IntegerField(allow_null=True, help_text="the entry of the latest rollback")
    effects = UndoableEffect(many=True)
