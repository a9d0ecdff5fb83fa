"""Shapes of alerts."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agentstate.engine.alerts import SEVERITIES
from agentstate.engine.decide.alerts import LONGEST_REASON
from sessions.alerts.tables import Alert as Row
from sessions.api.shapes.fields import ExactText, Key, Strict, choices

ALERT_STATE = choices(Row.Standing.values)
ALERT_SEVERITY = choices(SEVERITIES)


class AcknowledgeAlert(Strict):
    """That you have it."""

    holder = ExactText(max_length=60, required=False, help_text="the colleague from whom you take it, by actor")
    idempotency_key = Key()


class CloseAlert(Strict):
    """That it is over."""

    reason = ExactText(max_length=LONGEST_REASON, help_text="why")
    idempotency_key = Key()


class Alert(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    team = serializers.UUIDField()
    session = serializers.UUIDField(allow_null=True, help_text="none: it is about the team itself")
    agent = serializers.CharField(help_text="of the session")
    customer = serializers.UUIDField(allow_null=True, help_text="for those who may read the session")
    rule = serializers.CharField(help_text="id of the rule; empty: one of the house's own")
    name = serializers.CharField(help_text="of the rule")
    version = serializers.IntegerField()
    severity = serializers.ChoiceField(choices=ALERT_SEVERITY)
    why = serializers.CharField(help_text="one word")
    about = serializers.CharField(help_text="a request's or call's id, a tool, a key; empty: the session as a whole")
    seq = serializers.IntegerField(help_text="the entry that made it hit; -1: time alone did")
    state = serializers.ChoiceField(choices=ALERT_STATE)
    to = serializers.ListField(child=serializers.CharField(), help_text="owner, role:..., team:..., user:...")
    held_by = serializers.CharField(help_text="who has it, by actor")
    raised_at = serializers.DateTimeField()
    escalates_at = serializers.DateTimeField(allow_null=True, help_text="unless somebody acknowledges it before")
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)
    closed_by = serializers.CharField()
    cause = serializers.CharField(help_text="what has ended it, in a word; `person`: somebody said why")
    hits = serializers.IntegerField(help_text="how often it was found while it was open")
    step = serializers.IntegerField(help_text="of its chain that it has come to")
    may_act = serializers.BooleanField(help_text="whether you may acknowledge and close it")


class AlertPage(serializers.Serializer[Any]):
    alerts = Alert(many=True)
    next = serializers.UUIDField(allow_null=True, help_text="`after` of the next page; none: this is the last")
