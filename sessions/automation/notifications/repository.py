"""Keeping rules: each change is a new version and an entry of the staff log."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from agentstate.errors import Invalid, NotFound, Refused
from agentstate.ids import new_id
from audit import staff
from audit.server_clock import now as database_now
from sessions.automation.notifications import definition as definitions
from sessions.automation.notifications.definition import Definition
from sessions.library.versions import must_be_named, must_be_seen
from sessions.models.notifications import NoticeEndpoint, NoticeRule, NoticeRuleVersion

MAX_RULES = 100  # of one team


class UnknownRule(NotFound):
    """There is no such rule, or you may not see it."""

    code = "unknown_notice_rule"


class UnknownEndpoint(Invalid):
    """The team has no endpoint of this name."""

    code = "unknown_endpoint"


class TooManyRules(Refused):
    """The team has as many rules as it may have."""

    code = "too_many_notice_rules"


def version_of(rule: UUID, version: int) -> Definition:
    """One version's definition."""
    return definitions.load(NoticeRuleVersion.objects.get(rule=rule, version=version).definition)


def keep(tenant: UUID, team: UUID, by: str, name: str, data: Any, *, seen: int = 0) -> NoticeRule:
    """The rule of that name, made or changed: its next version, on as it was. `seen` is the version that its author saw
    (0: none of it yet). Raises BadRule, BadGuard, UnknownEndpoint, ChangedMeanwhile, TooManyRules, Invalid.
    """
    must_be_named(name)
    wanted = definitions.load(data)
    _must_lead_somewhere(team, wanted)
    with transaction.atomic():
        row = NoticeRule.objects.select_for_update().filter(team_id=team, name=name).first()
        must_be_seen(row, seen)
        if row is None:
            if NoticeRule.objects.filter(team_id=team).count() >= MAX_RULES:
                raise TooManyRules(f"{MAX_RULES} are allowed")
            row = NoticeRule(id=new_id(), tenant_id=tenant, team_id=team, name=name, version=0)
        row.version += 1
        row.kinds, row.agent = list(wanted.on.kinds), wanted.on.agent
        row.changed_by, row.changed_at = by, database_now()
        row.since = row.changed_at
        row.save()
        NoticeRuleVersion.objects.create(
            rule=row.pk, version=row.version, definition=definitions.dump(wanted), by=by, at=row.changed_at
        )
        _record(row, "notice_rule.changed", by, version=row.version)
    return row


def _must_lead_somewhere(team: UUID, wanted: Definition) -> None:
    named = definitions.endpoints(wanted)
    known = set(NoticeEndpoint.objects.filter(team_id=team, name__in=named).values_list("name", flat=True))
    if missing := sorted(named - known):
        raise UnknownEndpoint(", ".join(missing)[:200], field="steps")


def switch(rule: UUID, on: bool, by: str) -> bool:
    """Switch it on or off. Whether that changed anything: it is recorded only then. Raises UnknownRule."""
    with transaction.atomic():
        row = NoticeRule.objects.select_for_update().filter(pk=rule).first()
        if row is None:
            raise UnknownRule()
        if row.on == on:
            return False
        row.on, row.changed_by, row.changed_at = on, by, database_now()
        if on:
            row.since = row.changed_at
        row.save()
        _record(row, "notice_rule.switched_on" if on else "notice_rule.switched_off", by)
    return True


def take_shipped(tenant: UUID, team: UUID, by: str) -> list[str]:
    """Give the team those of the shipped rules whose names it does not use. Gives these names."""
    taken = set(NoticeRule.objects.filter(team_id=team).values_list("name", flat=True))
    missing = {name: data for name, data in definitions.shipped().items() if name not in taken}
    for name, data in missing.items():
        keep(tenant, team, by, name, data)
    return sorted(missing)


def _record(row: NoticeRule, kind: str, by: str, **facts: str | int) -> None:
    known = {"rule": str(row.pk), "name": row.name, "team": str(row.team_id), **facts}
    staff.record(row.tenant_id, database_now(), kind, by, "", known)
