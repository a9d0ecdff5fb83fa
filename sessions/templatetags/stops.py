"""Stops in words, and which of them hold a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from django import template

from agentstate.people.models import Team
from sessions.core.session_lines import SessionLine
from sessions.core.stops import StopLine
from sessions.descriptions.values import plain
from sessions.models.sessions import Stop

register = template.Library()


@register.filter
def holding(stops: Iterable[StopLine], line: SessionLine) -> list[StopLine]:
    """The stops that hold all of a session, and those of single tools in its team, which may concern it."""
    return [
        stop for stop in stops if stop.team == line.team and (stop.scope == "tool" or stop.holds(line.agent, line.team))
    ]


@register.filter
def of(names: Mapping[UUID, str], key: UUID) -> str:
    """Returns the name under a key; empty without one."""
    return names.get(key, "")


@register.filter
def stopped(stop: StopLine | Stop) -> str:
    """Returns what is stopped and in which team: "everything in Retail banking"."""
    name = stop.team.name if isinstance(stop, Stop) else Team.objects.values_list("name", flat=True).get(pk=stop.team)
    if stop.scope == "team":
        return f"the team {name}"
    what = "everything" if stop.scope == "everything" else f"the {stop.scope} {plain(stop.value).lower()}"
    return f"{what} in {name}"
