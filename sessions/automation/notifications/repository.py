"""The notification rules of a team."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from agentstate.errors import Invalid, NotFound, Refused
from sessions.automation.notifications import definition as definitions
from sessions.automation.notifications.definition import Definition
from sessions.automation.rules.store import RuleStore
from sessions.models.notifications import NoticeEndpoint, NoticeRule, NoticeRuleVersion


class UnknownRule(NotFound):
    """There is no such rule, or you may not see it."""

    code = "unknown_notice_rule"


class UnknownEndpoint(Invalid):
    """The team has no endpoint of this name."""

    code = "unknown_endpoint"


class TooManyRules(Refused):
    """The team has as many rules as it may have."""

    code = "too_many_notice_rules"


class NoticeRules(RuleStore[NoticeRule]):
    """Notification rules."""

    rows, versions, event, most = NoticeRule, NoticeRuleVersion, "notice_rule", 100
    unknown, too_many = UnknownRule, TooManyRules

    def checked(self, team: UUID, data: Any, **_: Any) -> tuple[Definition, dict[str, Any]]:
        """Raises BadRule, BadGuard, UnknownEndpoint."""
        found = definitions.load(data)
        named = definitions.endpoints(found)
        known = set(NoticeEndpoint.objects.filter(team_id=team, name__in=named).values_list("name", flat=True))
        if missing := sorted(named - known):
            raise UnknownEndpoint(", ".join(missing)[:200], field="steps")
        return found, definitions.dump(found)

    def fill(self, row: NoticeRule, definition: Definition, at: datetime) -> None:
        """What it is about."""
        row.kinds, row.agent = list(definition.on.kinds), definition.on.agent


STORE = NoticeRules()
keep, switch = STORE.keep, STORE.switch


def version_of(rule: UUID, version: int) -> Definition:
    """Returns one version's definition."""
    return definitions.load(STORE.definition(rule, version))


def take_shipped(tenant: UUID, team: UUID, by: str) -> list[str]:
    """Give the team those of the shipped rules whose names it does not use. Gives these names."""
    taken = set(NoticeRule.objects.filter(team_id=team).values_list("name", flat=True))
    missing = {name: data for name, data in definitions.shipped().items() if name not in taken}
    for name, data in missing.items():
        keep(tenant, team, by, name, data)
    return sorted(missing)
