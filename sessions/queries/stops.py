"""The stops of a person's teams, and those of other teams that an alert of their team tells of."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.roles import Permission
from sessions import stops
from sessions.commands.stops import ELSEWHERE, EVERYWHERE, alert_key
from sessions.models import Stop
from sessions.queries.alerts import AlertLine
from sessions.queries.session_lines import Person

LATELY = 50  # that were lifted


def stops_of(user: Person) -> list[Stop]:
    """Returns the stops of the person's teams: those in force, oldest first, then those lifted lately, newest first.

    Raises PermissionDenied to a person who sees no session.
    """
    teams = _teams_of(user)
    if not teams:
        raise PermissionDenied("This needs the permission see.", permission=Permission.SEE.value)
    rows = Stop.objects.filter(team__in=teams).select_related("team")
    now = rows.filter(lifted_at=None).order_by("at", "team__name", "pk")
    return [*now, *rows.filter(lifted_at__isnull=False).order_by("-lifted_at", "pk")[:LATELY]]


def in_force_for(user: Person) -> tuple[stops.StopLine, ...]:
    """Returns the stops in force in the person's teams, oldest first."""
    if not isinstance(user, User):
        return ()
    lines = stops.in_force(user.tenant_id)
    teams = _teams_of(user) if lines else set()
    return tuple(line for line in lines if line.team in teams)


def told_by(alerts: Iterable[AlertLine], tenant: UUID) -> dict[UUID, list[stops.StopLine]]:
    """Returns by alert the stops that it tells of: its own team's, or those of the teams that stopped before it."""
    about = [each for each in alerts if each.session is None and each.name in (ELSEWHERE, EVERYWHERE)]
    lines = stops.in_force(tenant) if about else ()
    return {
        each.id: [
            line
            for line in lines
            if alert_key(line.scope, line.value) == each.about and (each.name == ELSEWHERE or line.team == each.team)
        ]
        for each in about
    }


def _teams_of(user: Person) -> set[UUID]:
    return {*teams_with(user, Permission.SEE), *teams_with(user, Permission.STOP)}
