"""What can be done with triggers. All need `configure` in the trigger's team."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from agentstate.errors import Invalid
from agentstate.people.models import Team
from agentstate.people.permissions import PermissionDenied, can, require, teams_with
from agentstate.people.roles import Permission
from sessions.automation.triggers import repository
from sessions.automation.triggers.repository import UnknownTrigger
from sessions.core.person import Person, author_of
from sessions.models.triggers import Trigger


def keep_trigger(user: Person, name: str, definition: Any, *, seen: int = 0, team: str = "") -> Trigger:
    """Make a trigger, or change the one of that name whose version `seen` its author saw. Raises BadTrigger, BadGuard,
    BadSchedule, UnknownWatch, ChangedMeanwhile, Invalid, PermissionDenied.
    """
    chosen = team_configured(user, team)
    return repository.keep(chosen.tenant_id, chosen.pk, author_of(user).actor, name, definition, seen=seen)


def switch_trigger(user: Person, trigger: UUID, on: bool) -> Trigger:
    """Switch it on or off. Raises UnknownTrigger, PermissionDenied."""
    row = found(user, trigger)
    require(user, Permission.CONFIGURE, row.team_id)
    repository.switch(trigger, on, author_of(user).actor, "by_hand")
    row.refresh_from_db()
    return row


def found(user: Person, trigger: UUID) -> Trigger:
    """The trigger, for those who may see its team. Raises UnknownTrigger."""
    row = Trigger.objects.filter(pk=trigger).first()
    if row is None or not can(user, Permission.SEE, row.team_id):
        raise UnknownTrigger()
    return row


def team_configured(user: Person, slug: str) -> Team:
    """The team that is meant, of those that they configure. Raises PermissionDenied, Invalid."""
    allowed = Team.objects.filter(pk__in=teams_with(user, Permission.CONFIGURE))
    if slug:
        allowed = allowed.filter(slug=slug)
    teams = list(allowed[:2])
    if not teams:
        needed = Permission.CONFIGURE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    if len(teams) > 1:
        raise Invalid("you configure several teams: say which", field="team")
    return teams[0]
