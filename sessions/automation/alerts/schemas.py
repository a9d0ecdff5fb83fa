"""Shapes of alerts, of the rules that raise them, and of service levels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.decide.alerts import LONGEST_REASON
from sessions.automation.alert_rules import dry_runs
from sessions.automation.alert_rules import queries as rules
from sessions.automation.alert_rules.dry_runs import LONGEST
from sessions.automation.alerts import queries
from sessions.automation.service_levels import queries as service_levels
from sessions.automation.service_levels.definition import WHATS as MEASURED
from sessions.http.bodies import About, Body, Chars, Command, Range, Words
from sessions.http.openapi import published

LEVEL_WHAT = list(MEASURED)


class AcknowledgeAlert(Command, kw_only=True):
    """That you have it."""

    holder: Annotated[str, Chars(60, "the colleague from whom you take it, by actor")] | UnsetType = UNSET


class CloseAlert(Command, kw_only=True):
    """That it is over."""

    reason: Annotated[str, Chars(LONGEST_REASON, "why")]


class AlertPage(Struct, frozen=True):
    alerts: Sequence[queries.AlertLine]
    next: Annotated[UUID | None, About("`after` of the next page; none: this is the last")]


class KeepAlertRule(Body, kw_only=True):
    """A rule, target or calendar to make, or to change."""

    what: Annotated[str, Words(rules.RULE_WHAT)]
    name: Annotated[str, Chars(60, "a lower-case word with digits and hyphens")]
    definition: Annotated[Any, About("docs/alerts.md")]
    seen: Annotated[int, Range(0, 2**31 - 1, "the version that you saw; 0 or none: it is new")] | UnsetType = UNSET
    team: Annotated[str, Chars(60, "slug; needed if you configure several")] | UnsetType = UNSET


class SwitchAlertRule(Body, kw_only=True):
    on: bool


class TryAlertRule(Body, kw_only=True):
    """A rule to try on what is past."""

    definition: Annotated[Any, About("of a rule: docs/alerts.md")]
    days: Annotated[int, Range(1, LONGEST, "of the last days; 7 if none")] | UnsetType = UNSET


class AlertRuleList(Struct, frozen=True):
    rules: Sequence[rules.RuleLine]


class LevelFigure(Struct, frozen=True):
    day: Annotated[date, About("UTC, on which the measurements began")]
    team: UUID
    agent: str
    target: str
    what: Annotated[str, Words(LEVEL_WHAT)]
    met: int
    missed: int
    late: Annotated[int, About("that still run and are missed already")]
    running: int
    void: Annotated[int, About("that came to no end of ours")]
    share: Annotated[int | None, About("thousandths met, of met, missed and late")]
    median: Annotated[int | None, About("milliseconds of open time")]
    p95: int | None


class ServiceLevels(Struct, frozen=True):
    since: date
    until: date
    levels: Sequence[LevelFigure]
    alerts: Sequence[service_levels.AlertFigure]


published(Alert=queries.AlertLine, AlertRule=rules.RuleLine, WouldAlert=dry_runs.TrialLine, AlertTrial=dry_runs.Trial)
