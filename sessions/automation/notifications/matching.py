"""Whether a rule tells of what happened, and under which key it is the same as another. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentstate.engine import guards
from agentstate.engine.guards import BadGuard, UnreadableGuard
from sessions.automation.notifications.definition import NAMES, Definition

MAX_KEY = 200  # characters


class Tells(msgspec.Struct, frozen=True):
    """It does. What has the same key is the same."""

    key: str


class Passed(msgspec.Struct, frozen=True):
    """It does not; `why` in a word."""

    why: str


def judged(definition: Definition, values: Mapping[str, Any], otherwise: str) -> Tells | Passed:
    """Both expressions evaluated on `values` (keys among NAMES); `otherwise` is the key of a rule that names none."""
    known = {name: values.get(name, {}) for name in NAMES}
    try:
        if not guards.answered(definition.when, NAMES, known):
            return Passed("condition_false")
        key = guards.valued(definition.key, NAMES, known) if definition.key else otherwise
    except (BadGuard, UnreadableGuard):
        return Passed("unreadable")
    return Tells(key[:MAX_KEY]) if isinstance(key, str) and key else Passed("bad_value")
