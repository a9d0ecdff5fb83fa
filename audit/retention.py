"""Retention: named classes with a term each, and the rules by which a closed log belongs to one.

The first rule that fits decides; what no rule fits is kept. When the term is over the payloads are deleted and the
envelopes stay: `payload.pruned` in the log names the range, so a verifier tells pruned from missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import msgspec
from django.db import transaction

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.ids import new_id
from audit import staff
from audit.models import RetentionClass, RetentionRule

MAX_DAYS = 36_500
MAX_RULES = 200


class Class(msgspec.Struct, frozen=True):
    """For how many days after its end the payloads of a log are kept."""

    name: str
    days: int


class Rule(msgspec.Struct, frozen=True):
    """What belongs to a class. An empty field fits everything; `team` is the team's id."""

    retention: str
    team: str = ""
    agent: str = ""
    channel: str = ""


class Schedule(msgspec.Struct, frozen=True):
    """All classes, and all rules in their order."""

    classes: tuple[Class, ...] = ()
    rules: tuple[Rule, ...] = ()

    def of(self, team: UUID, agent: str, channel: str) -> Class | None:
        """The class of a log; None: it is kept."""
        for rule in self.rules:
            if rule.team in ("", str(team)) and rule.agent in ("", agent) and rule.channel in ("", channel):
                return next(each for each in self.classes if each.name == rule.retention)
        return None


def schedule(tenant: UUID) -> Schedule:
    """What is in force."""
    classes = RetentionClass.objects.filter(tenant=tenant).order_by("name")
    rules = RetentionRule.objects.filter(tenant=tenant).select_related("retention").order_by("place")
    return Schedule(
        tuple(Class(each.name, each.days) for each in classes),
        tuple(
            Rule(each.retention.name, str(each.team) if each.team else "", each.agent, each.channel) for each in rules
        ),
    )


def put(tenant: UUID, wanted: Schedule, by: str) -> None:
    """Set all classes and rules anew, with an entry that holds them. Raises Invalid."""
    check(wanted)
    with transaction.atomic():
        RetentionRule.objects.filter(tenant=tenant).delete()
        RetentionClass.objects.filter(tenant=tenant).delete()
        rows = {
            each.name: RetentionClass(id=new_id(), tenant=tenant, name=each.name, days=each.days)
            for each in wanted.classes
        }
        RetentionClass.objects.bulk_create(rows.values())
        RetentionRule.objects.bulk_create(
            RetentionRule(
                id=new_id(),
                tenant=tenant,
                place=place,
                team=UUID(rule.team) if rule.team else None,
                agent=rule.agent,
                channel=rule.channel,
                retention=rows[rule.retention],
            )
            for place, rule in enumerate(wanted.rules)
        )
        staff.record(tenant, now(), "retention.set", by, "", {"schedule": msgspec.to_builtins(wanted)})


def check(wanted: Schedule) -> None:
    """Raises Invalid naming what is wrong."""
    names = [each.name for each in wanted.classes]
    if len(set(names)) < len(names) or not all(name.strip() and len(name) <= 60 for name in names):
        raise Invalid("classes need names of 1 to 60 characters, each once", field="classes")
    if any(not 0 <= each.days <= MAX_DAYS for each in wanted.classes):
        raise Invalid(f"a term is 0 to {MAX_DAYS} days", field="classes")
    if len(wanted.rules) > MAX_RULES:
        raise Invalid(f"got {len(wanted.rules)} rules, at most {MAX_RULES}", field="rules")
    _rules_checked(wanted.rules, set(names))


def _rules_checked(rules: Sequence[Rule], names: set[str]) -> None:
    for rule in rules:
        if rule.retention not in names:
            raise Invalid(f"there is no class {rule.retention!r}", field="rules")
        try:
            UUID(rule.team or str(new_id()))
        except ValueError:
            raise Invalid(f"got team {rule.team[:50]!r}, want an id", field="rules") from None
