"""Stops in words, and which of them hold a session."""

from __future__ import annotations

from collections.abc import Iterable

from django import template

from agentstate.people.models import Team
from sessions.queries import SessionLine
from sessions.stops import StopLine
from sessions.words import plain

register = template.Library()


@register.filter
def holding(stops: Iterable[StopLine], line: SessionLine) -> list[StopLine]:
    """The stops that hold all of a session, and those of single tools, which may concern it."""
    return [stop for stop in stops if stop.scope == "tool" or stop.holds(line.agent, line.team)]


@register.filter
def stopped(stop: StopLine) -> str:
    """What is stopped, in words."""
    if stop.scope == "team":
        name = Team.objects.filter(pk=stop.value).values_list("name", flat=True).first()
        return f"the team {name or stop.value}"
    return "everything" if stop.scope == "everything" else f"the {stop.scope} {plain(stop.value).lower()}"
