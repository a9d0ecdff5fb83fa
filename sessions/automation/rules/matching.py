"""Whether a rule matches what happened, and with which effect. Pure: values in, an effect or the reason why not out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from agentstate.engine import guards
from agentstate.engine.guards import BadGuard, UnreadableGuard
from sessions.automation.rules.definition import NAMES

Why = Literal["condition_false", "unreadable", "bad_value", "too_deep", "fires_on_itself"]
Values = Mapping[str, Any]
Effect = TypeVar("Effect")


class Passed(msgspec.Struct, frozen=True):
    """The rule does nothing. `off`: and is to be switched off."""

    why: Why
    off: bool = False


class BadValue(Exception):
    """An expression gave something that its field cannot be."""


def matched(when: str, values: Values, effect: Callable[[Values], Effect]) -> Effect | Passed:
    """Returns the effect on `values` (keys among NAMES) if the condition is true, else why there is none."""
    known = {name: values.get(name, {}) for name in NAMES}
    try:
        if not guards.answered(when, NAMES, known):
            return Passed("condition_false")
        return effect(known)
    except (BadGuard, UnreadableGuard):
        return Passed("unreadable")
    except BadValue:
        return Passed("bad_value")


def text_of(expression: str, known: Values, most: int, *, required: bool = False) -> str:
    """Returns the text of an expression; empty for none. Raises BadValue for another type, and for one too long."""
    value = guards.valued(expression, NAMES, known) if expression else ""
    if not isinstance(value, str) or len(value) > most or "\x00" in value or (required and not value.strip()):
        raise BadValue
    return value
