"""The small parts of a customer's page: a confidence, a value as a form carries it, a name in words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import template

from agentstate.engine.profile.values import key_of
from sessions.profiles import declarations
from sessions.profiles import descriptions as words
from sessions.text import money

register = template.Library()


@register.filter
def sure(confidence: Decimal) -> str:
    """64%"""
    return words.percent(confidence)


@register.filter
def held(value: Any) -> str:
    """A value as a hidden field carries it."""
    return key_of(value)


@register.filter
def named(name: str) -> str:
    """A declared name in words."""
    return words.named(name)


@register.filter
def typed(value: Any) -> str:
    """A value as a person types it."""
    return money.figures(value) if money.is_money(value) else str(value)


@register.filter
def keeps_profiles(agent: str) -> bool:
    """Whether customers of this agent have a profile."""
    return declarations.for_agent(agent) is not None


@register.simple_tag
def teller(by: str, names: dict[str, str]) -> str:
    """Who said so: the customer, or somebody on their behalf."""
    return "the customer" if by == "customer" else names.get(by, "somebody")
