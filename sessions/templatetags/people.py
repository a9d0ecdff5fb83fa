"""Who an actor is: a person by name, or the software by its role."""

from __future__ import annotations

from django import template

register = template.Library()


@register.simple_tag
def person(actor: str, names: dict[str, str]) -> str:
    """The name behind `user:<uuid>`, empty for software and for people who are gone."""
    return names.get(actor, "")


@register.filter
def software(actor: str) -> str:
    """An actor that is no known person, in a word."""
    if actor.startswith("agent:"):
        return "Agent"
    if actor.startswith("trigger:"):
        return "Trigger"
    if actor.startswith("link:"):
        return "Whoever had the link"
    return {"system": "System", "customer": "Customer", "anonymous": "Nobody"}.get(actor, "Somebody")


@register.filter
def team_named(actor: str) -> str:
    """The slug of a team to which work is assigned; empty for people."""
    return actor.removeprefix("team:") if actor.startswith("team:") else ""
