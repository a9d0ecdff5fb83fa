"""The words of policies as template filters."""

from __future__ import annotations

from django import template

from sessions.descriptions.policies import lasting, reaching

register = template.Library()
register.filter("lasting", lasting)
register.filter("reaching", reaching)


@register.filter
def minutes(seconds: int) -> int:
    """Whole minutes, at least one."""
    return max(1, seconds // 60)


@register.filter
def at(name: str, version: int) -> str:
    """How a version of a policy is named: `bank@1`."""
    return f"{name}@{version}"
