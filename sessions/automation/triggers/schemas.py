"""Shapes of triggers, of what became of what they heard, and of timers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.automation.triggers.definition import SOURCES
from sessions.http.fields import ExactChoice, ExactFlag, ExactText, Key, Strict, choices
from sessions.http.values import Anything, AnyValue, ExactNumber
from sessions.models.triggers import TriggerFiring
from sessions.timers import commands as timers

TIMER_KIND = choices(timers.KINDS)
TRIGGER_SOURCE = choices(SOURCES)
FIRING_STATE = choices(TriggerFiring.State.values)
_NAME = 60


class KeepTrigger(Strict):
    """A trigger to make, or to change."""

    name = ExactText(max_length=_NAME, help_text="a lower-case word with digits and hyphens")
    definition = AnyValue(help_text="on what, when, what it does, how often at most: docs/triggers.md")
    seen = ExactNumber(
        min_value=0, max_value=2**31 - 1, required=False, help_text="the version that you saw; 0 or none: it is new"
    )
    team = ExactText(max_length=_NAME, required=False, help_text="slug; needed if you configure several")


class SwitchTrigger(Strict):
    on = ExactFlag()


class Trigger(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    team = serializers.UUIDField()
    version = serializers.IntegerField()
    source = serializers.ChoiceField(choices=TRIGGER_SOURCE)  # type: ignore[assignment]
    on = serializers.BooleanField()
    off_why = serializers.CharField(help_text="by_hand, fires_on_itself, too_often; empty while it is on")
    next_at = serializers.DateTimeField(allow_null=True)
    changed_by = serializers.CharField()
    changed_at = serializers.DateTimeField()
    fired = serializers.IntegerField(help_text="within a day")
    waiting = serializers.IntegerField()
    refused = serializers.IntegerField(help_text="within a day")
    definition = Anything(help_text="of the newest version, with all defaults")


class TriggerList(serializers.Serializer[Any]):
    triggers = Trigger(many=True)


class Firing(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    version = serializers.IntegerField()
    state = serializers.ChoiceField(choices=FIRING_STATE)
    why = serializers.CharField(help_text="a word: condition_false, rate_limited, too_deep, no_session, ...")
    about = serializers.UUIDField(allow_null=True, help_text="the session in which it happened")
    about_seq = serializers.IntegerField(allow_null=True)
    session = serializers.UUIDField(allow_null=True, help_text="the session in which it acted")
    at = serializers.DateTimeField()
    due_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField()


class FiringList(serializers.Serializer[Any]):
    firings = Firing(many=True)


class Watch(serializers.Serializer[Any]):
    name = serializers.CharField()
    team = serializers.UUIDField()
    database = serializers.CharField()
    table = serializers.CharField()
    keys = serializers.ListField(child=serializers.CharField())
    polled_at = serializers.DateTimeField(allow_null=True)
    trouble = serializers.CharField(help_text="why it cannot be fetched from; empty: it can")
    lag = serializers.IntegerField(help_text="changes that still wait there")


class WatchList(serializers.Serializer[Any]):
    watches = Watch(many=True)


class SetTimer(Strict):
    """Something that the session is to do by itself."""

    what = ExactChoice(choices=TIMER_KIND)
    after = ExactNumber(min_value=0, max_value=timers.LONGEST, required=False, help_text="seconds from now")
    at = serializers.DateTimeField(required=False, help_text="or an instant with its time zone")
    text = ExactText(max_length=16_384, required=False, help_text="what the agent is reminded of")
    idempotency_key = Key()


class Timer(serializers.Serializer[Any]):
    id = serializers.CharField()
    what = serializers.ChoiceField(choices=TIMER_KIND)
    due = serializers.CharField()
    by = serializers.CharField()
    text = serializers.CharField()
    seq = serializers.IntegerField(help_text="the entry that set it")


class TimerList(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    timers = Timer(many=True)
