"""The stops of a person's teams, and those of other teams that an alert of their team tells of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID

import msgspec

from agentstate.people import reasons
from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.roles import Permission
from sessions.core import stops
from sessions.core.session_lines import Person
from sessions.models.sessions import Stop
from sessions.stops.commands import ELSEWHERE, EVERYWHERE, alert_key

LATELY = 50  # that were lifted


def stops_of(user: Person) -> list[Stop]:
    """Returns the stops of the person's teams: those in force, oldest first, then those lifted lately, newest first.
    They have no reasons for a person on the customer's side.

    Raises PermissionDenied to a person who sees no session.
    """
    teams, withheld = _reach(user)
    if not teams:
        raise PermissionDenied("This needs the permission see.", permission=Permission.SEE.value)
    rows = Stop.objects.filter(team__in=teams).select_related("team")
    now = rows.filter(lifted_at=None).order_by("at", "team__name", "pk")
    found = [*now, *rows.filter(lifted_at__isnull=False).order_by("-lifted_at", "pk")[:LATELY]]
    for row in found:
        if row.team_id in withheld:
            row.sealed_reason, row.sealed_lifted_why = b"", None
    return reasons.with_keys(found)


def in_force_for(user: Person) -> tuple[stops.StopLine, ...]:
    """Returns the stops in force in the person's teams, oldest first; without reasons on the customer's side."""
    if not isinstance(user, User):
        return ()
    lines = stops.in_force(user.tenant_id)
    teams, withheld = _reach(user) if lines else (set(), set())
    return tuple(_shown(line, withheld) for line in lines if line.team in teams)


class StopAlert(Protocol):
    """An alert that may be about a stop."""

    @property
    def id(self) -> UUID: ...

    @property
    def session(self) -> UUID | None: ...

    @property
    def team(self) -> UUID: ...

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str: ...


def told_by(alerts: Iterable[StopAlert], user: User) -> dict[UUID, list[stops.StopLine]]:
    """Returns by alert the stops that it tells of: its own team's, or those of the teams that stopped before it.
    Their reasons are withheld from a person on the customer's side of the alert's team.
    """
    about = [each for each in alerts if each.session is None and each.name in (ELSEWHERE, EVERYWHERE)]
    lines = stops.in_force(user.tenant_id) if about else ()
    withheld = _reach(user)[1] if lines else set()
    return {
        each.id: [
            _shown(line, {line.team} if each.team in withheld else set())
            for line in lines
            if alert_key(line.scope, line.value) == each.about and (each.name == ELSEWHERE or line.team == each.team)
        ]
        for each in about
    }


def _reach(user: Person) -> tuple[set[UUID], set[UUID]]:
    """Returns the teams whose stops the person sees, and those on whose customers' side they are: they speak as the
    customer there, and do not stop.
    """
    stopping = set(teams_with(user, Permission.STOP))
    return {*teams_with(user, Permission.SEE), *stopping}, {*teams_with(user, Permission.SPEAK_AS_CUSTOMER)} - stopping


def _shown(line: stops.StopLine, withheld: set[UUID]) -> stops.StopLine:
    return msgspec.structs.replace(line, sealed_reason=b"") if line.team in withheld else line
