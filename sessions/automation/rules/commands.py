"""What people may do with rules. Changes need `configure` in the rule's team."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from agentstate.errors import Invalid
from agentstate.people.models import Team
from agentstate.people.permissions import PermissionDenied, can, require, teams_with
from agentstate.people.roles import Permission
from sessions.automation.rules.store import Row, RuleStore
from sessions.core.person import Person, author_of


def keep(
    store: RuleStore[Row], user: Person, name: str, definition: Any, *, seen: int = 0, team: str = "", **scope: Any
) -> Row:
    """Makes a rule, or changes the one of that name whose version `seen` its author saw. Raises as the store's `keep`,
    and Invalid, PermissionDenied.
    """
    chosen = team_configured(user, team)
    if not seen:
        store.prepare(chosen.pk)
    return store.keep(chosen.tenant_id, chosen.pk, author_of(user).actor, name, definition, seen=seen, **scope)


def switch(store: RuleStore[Row], user: Person, pk: UUID, on: bool) -> Row:
    """Switches it on or off. Raises the store's `unknown`, PermissionDenied, and what the kind refuses."""
    row = configured(store, user, pk)
    store.switch(pk, on, author_of(user).actor, "by_hand")
    row.refresh_from_db()
    return row


def found(store: RuleStore[Row], user: Person, pk: UUID) -> Row:
    """Returns the rule, to those who may see its team. Raises the store's `unknown`."""
    row: Any = store.rows._default_manager.filter(pk=pk).first()
    if row is None or not can(user, Permission.SEE, row.team_id):
        raise store.unknown()
    return row  # type: ignore[no-any-return]


def configured(store: RuleStore[Row], user: Person, pk: UUID) -> Row:
    """Returns the rule, to those who configure its team. Raises as `found`, and PermissionDenied."""
    row: Any = found(store, user, pk)
    require(user, Permission.CONFIGURE, row.team_id)
    return row  # type: ignore[no-any-return]


def team_configured(user: Person, slug: str) -> Team:
    """Returns the team that is meant, of those that the user configures. Raises PermissionDenied, Invalid."""
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
