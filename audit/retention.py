"""Retention: named classes with a term each, and the rules by which a closed log belongs to one.

The first rule that fits decides; what no rule fits is kept. When the term is over the payloads are deleted and the
envelopes stay: `payload.pruned` in the log names the range, so a verifier tells pruned from missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import product
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
MIN_SHORTENED_DAYS = 30  # a term cannot be shortened below this; an erasure that a customer asks for knows no term
ANY_OTHER = "\0"  # means every agent or channel that no rule names


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

    def terms_of(self, team: UUID) -> tuple[tuple[str, str, str, int], ...]:
        """Returns the rules that a team's sessions go by, in order: agent, channel, class and days."""
        days = {each.name: each.days for each in self.classes}
        return tuple(
            (rule.agent, rule.channel, rule.retention, days[rule.retention])
            for rule in self.rules
            if rule.team in ("", str(team))
        )

    def seen_by(self, teams: Set[UUID]) -> Schedule:
        """Returns the part that these teams go by: their rules, those of no team, and no class of other teams alone."""
        seen = tuple(rule for rule in self.rules if _concerns(rule, teams))
        hidden = {rule.retention for rule in self.rules} - {rule.retention for rule in seen}
        return Schedule(tuple(each for each in self.classes if each.name not in hidden), seen)

    def with_part(self, wanted: Schedule, teams: Set[UUID]) -> Schedule:
        """Returns the schedule with `wanted` in the place of what these teams see of it.

        The rules of other teams keep their place among the rules of no team, so nothing changes for those teams unless
        a rule of no team or a class of theirs does.
        """
        rules = list(wanted.rules)
        for before, rule in reversed(_hidden(self.rules, teams)):
            rules.insert(_behind(rules, before), rule)
        used = {rule.retention for rule in rules} - {each.name for each in wanted.classes}
        kept = tuple(each for each in self.classes if each.name in used)
        return Schedule((*wanted.classes, *kept), tuple(rules))


def _concerns(rule: Rule, teams: Set[UUID]) -> bool:
    return not rule.team or UUID(rule.team) in teams


def _hidden(rules: Sequence[Rule], teams: Set[UUID]) -> list[tuple[int, Rule]]:
    """Returns the rules of other teams, each with how many rules of no team are before it."""
    found, before = [], 0
    for rule in rules:
        if not _concerns(rule, teams):
            found.append((before, rule))
        before += not rule.team
    return found


def _behind(rules: Sequence[Rule], count: int) -> int:
    """Returns the place behind the first `count` rules of no team."""
    places = [place for place, rule in enumerate(rules) if not rule.team]
    return 0 if count == 0 else places[count - 1] + 1 if count <= len(places) else len(rules)


def changes_for(before: Schedule, after: Schedule, team: UUID) -> bool:
    """Whether a team's sessions go by other rules afterwards."""
    return before.terms_of(team) != after.terms_of(team)


def shortened(before: Schedule, after: Schedule, team: UUID) -> list[int]:
    """Returns the new terms in days that are shorter than those before, of the team's agents and channels."""
    rules = (*before.rules, *after.rules)
    agents = sorted({rule.agent for rule in rules if rule.agent} | {ANY_OTHER})
    channels = sorted({rule.channel for rule in rules if rule.channel} | {ANY_OTHER})
    found = []
    for agent, channel in product(agents, channels):
        old, new = before.of(team, agent, channel), after.of(team, agent, channel)
        if new is not None and (old is None or new.days < old.days):
            found.append(new.days)
    return found


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


def put(tenant: UUID, wanted: Schedule, by: str, teams: Iterable[UUID] = ()) -> None:
    """Sets all classes and rules anew, with an entry that holds them and names the teams concerned. Raises Invalid."""
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
        staff.record(tenant, now(), "retention.set", by, "", _facts(wanted, teams))


def _facts(wanted: Schedule, teams: Iterable[UUID]) -> dict[str, object]:
    return {"schedule": msgspec.to_builtins(wanted), "teams": [str(team) for team in sorted(teams)]}


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
