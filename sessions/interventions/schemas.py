"""Shapes of what is stuck, and of stepping in."""

from __future__ import annotations

from typing import Any, get_args

from rest_framework import serializers

from agentstate.engine import events as ev
from agentstate.engine.decide.interventions import MAX_REASON
from sessions.http.fields import ExactChoice, ExactText, Key, Strict, choices
from sessions.http.values import AnyValue

INTERVENTION = choices(get_args(ev.Intervention))
STUCK_WHY = choices(("unknown", "failed", "waits"))
MAX_CALL = 200  # characters of a call's id


class Intervention(Strict):
    """What a person says of a call."""

    call = ExactText(max_length=MAX_CALL)
    how = ExactChoice(choices=INTERVENTION)
    reason = ExactText(max_length=MAX_REASON)
    result = AnyValue(required=False, help_text="with `supply` and `happened`: judged by the tool's own schema")
    idempotency_key = Key()


class Withdrawal(Strict):
    """Which call is withdrawn, and why."""

    call = ExactText(max_length=MAX_CALL, required=False)
    request = ExactText(
        max_length=MAX_CALL, required=False, help_text="instead of `call`: the request that asks for it"
    )
    reason = ExactText(max_length=MAX_REASON)
    idempotency_key = Key()


class RetrySession(Strict):
    """Why it is tried again."""

    reason = ExactText(max_length=MAX_REASON)
    idempotency_key = Key()


class StuckSession(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    agent = serializers.CharField()
    status = serializers.CharField()
    stuck = serializers.IntegerField(help_text="calls that a person must settle, and the session itself if it failed")
    stalled = serializers.CharField(help_text="why the runtime leaves it alone; empty: it does not", allow_blank=True)
    stalled_at = serializers.DateTimeField(allow_null=True)
    last_at = serializers.DateTimeField()


class StuckList(serializers.Serializer[Any]):
    sessions = StuckSession(many=True)


class StuckCall(serializers.Serializer[Any]):
    call = serializers.CharField()
    tool = serializers.CharField()
    status = serializers.CharField()
    tier = serializers.IntegerField()
    why = serializers.ChoiceField(choices=STUCK_WHY, help_text="unknown: nobody knows whether it happened")
    attempt = serializers.IntegerField()
    arguments = serializers.DictField()
    said = serializers.CharField(help_text="what the agent was told of it", allow_blank=True)
    ways = serializers.ListField(child=serializers.ChoiceField(choices=INTERVENTION), help_text="what may be done")
    is_blocked = serializers.BooleanField(
        help_text="whether nothing goes on with it until a person intervenes: what `/stuck` and alerts count"
    )
    intent = serializers.IntegerField(help_text="entry by which it began last; -1: never")


class StuckCalls(serializers.Serializer[Any]):
    calls = StuckCall(many=True)
