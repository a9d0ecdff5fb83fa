"""What can be done with alert rules, targets and calendars. All need `configure` in the team."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from agentstate.errors import Invalid
from agentstate.people.permissions import can, require
from agentstate.people.roles import Permission
from sessions.automation.alerts import repository as keeping
from sessions.automation.alerts.documents import WHATS
from sessions.automation.alerts.repository import UnknownRule
from sessions.automation.triggers.commands import team_configured
from sessions.core.person import Person, author_of
from sessions.models.alerts import TeamRule


def keep_rule(user: Person, what: str, name: str, definition: Any, *, seen: int = 0, team: str = "") -> TeamRule:
    """Make a rule, target or calendar, or change the one of that name whose version `seen` its author saw. Raises
    BadRule, BadGuard, BadTarget, BadCalendar, UnknownCalendar, ChangedMeanwhile, Invalid, PermissionDenied.
    """
    if what not in WHATS:
        raise Invalid(f"want one of {', '.join(WHATS)}", field="what")
    chosen = team_configured(user, team)
    if not seen:
        keeping.teams_at_work({chosen.pk})  # what is shipped comes before the first of one's own
    return keeping.keep(chosen.tenant_id, chosen.pk, author_of(user).actor, what, name, definition, seen=seen)


def switch_rule(user: Person, rule: UUID, on: bool) -> TeamRule:
    """Switch it on or off. Raises UnknownRule, InUse, PermissionDenied."""
    row = found(user, rule)
    require(user, Permission.CONFIGURE, row.team_id)
    keeping.switch(rule, on, author_of(user).actor)
    row.refresh_from_db()
    return row


def found(user: Person, rule: UUID) -> TeamRule:
    """It, for those who may see its team. Raises UnknownRule."""
    row = TeamRule.objects.filter(pk=rule).first()
    if row is None or not can(user, Permission.SEE, row.team_id):
        raise UnknownRule()
    return row
