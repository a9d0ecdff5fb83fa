"""Shapes of alerts, of the rules that raise them, and of service levels."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agentstate.engine.alerts import SEVERITIES
from agentstate.engine.decide.alerts import LONGEST_REASON
from sessions.automation.alert_rules.dry_runs import LONGEST
from sessions.automation.alerts.documents import WHATS
from sessions.automation.service_levels.definition import WHATS as MEASURED
from sessions.http.fields import ExactChoice, ExactFlag, ExactText, Key, Strict, choices
from sessions.http.values import Anything, AnyValue, ExactNumber
from sessions.models.alerts import Alert as Row

ALERT_STATE = choices(Row.Standing.values)
ALERT_SEVERITY = choices(SEVERITIES)
RULE_WHAT = choices(WHATS)
LEVEL_WHAT = choices(MEASURED)


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


class KeepAlertRule(Strict):
    """A rule, target or calendar to make, or to change."""

    what = ExactChoice(choices=RULE_WHAT)
    name = ExactText(max_length=60, help_text="a lower-case word with digits and hyphens")
    definition = AnyValue(help_text="docs/alerts.md")
    seen = ExactNumber(
        min_value=0, max_value=2**31 - 1, required=False, help_text="the version that you saw; 0 or none: it is new"
    )
    team = ExactText(max_length=60, required=False, help_text="slug; needed if you configure several")


class SwitchAlertRule(Strict):
    on = ExactFlag()


class TryAlertRule(Strict):
    """A rule to try on what is past."""

    definition = AnyValue(help_text="of a rule: docs/alerts.md")
    days = ExactNumber(min_value=1, max_value=LONGEST, required=False, help_text="of the last days; 7 if none")


class AlertRule(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    what = serializers.ChoiceField(choices=RULE_WHAT)
    name = serializers.CharField()
    team = serializers.UUIDField()
    version = serializers.IntegerField()
    on = serializers.BooleanField()
    since = serializers.DateTimeField(help_text="what happened before is none of its business")
    changed_by = serializers.CharField()
    changed_at = serializers.DateTimeField()
    raised = serializers.IntegerField(help_text="alerts, or measurements, of the last seven days")
    open = serializers.IntegerField(help_text="alerts that are not closed, or measurements that run")
    may_change = serializers.BooleanField()
    definition = Anything(help_text="of the newest version, with all defaults")


class AlertRuleList(serializers.Serializer[Any]):
    rules = AlertRule(many=True)


class WouldAlert(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    agent = serializers.CharField()
    at = serializers.DateTimeField()
    why = serializers.CharField()
    about = serializers.CharField()
    seq = serializers.IntegerField()


class AlertTrial(serializers.Serializer[Any]):
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    sessions = serializers.IntegerField(help_text="that were looked at")
    entries = serializers.IntegerField()
    alerts = serializers.IntegerField(help_text="that would have been raised")
    in_sessions = serializers.IntegerField()
    lines = WouldAlert(many=True)
    left_out = Anything(help_text="sessions that were not looked at, by why")


class LevelFigure(serializers.Serializer[Any]):
    day = serializers.DateField(help_text="UTC, on which the measurements began")
    team = serializers.UUIDField()
    agent = serializers.CharField()
    target = serializers.CharField()
    what = serializers.ChoiceField(choices=LEVEL_WHAT)
    met = serializers.IntegerField()
    missed = serializers.IntegerField()
    late = serializers.IntegerField(help_text="that still run and are missed already")
    running = serializers.IntegerField()
    void = serializers.IntegerField(help_text="that came to no end of ours")
    share = serializers.IntegerField(allow_null=True, help_text="thousandths met, of met, missed and late")
    median = serializers.IntegerField(allow_null=True, help_text="milliseconds of open time")
    p95 = serializers.IntegerField(allow_null=True)


class AlertFigure(serializers.Serializer[Any]):
    day = serializers.DateField(help_text="UTC, on which they were raised")
    team = serializers.UUIDField()
    agent = serializers.CharField(help_text="empty: about no session")
    rule = serializers.CharField()
    severity = serializers.ChoiceField(choices=ALERT_SEVERITY)
    raised = serializers.IntegerField()
    acknowledged = serializers.IntegerField()
    by_itself = serializers.IntegerField(help_text="closed because the cause was over")
    escalated = serializers.IntegerField()
    median = serializers.IntegerField(allow_null=True, help_text="milliseconds until it was acknowledged")
    p95 = serializers.IntegerField(allow_null=True)


class ServiceLevels(serializers.Serializer[Any]):
    since = serializers.DateField()
    until = serializers.DateField()
    levels = LevelFigure(many=True)
    alerts = AlertFigure(many=True)
