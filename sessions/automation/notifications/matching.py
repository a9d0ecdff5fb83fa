"""Whether a notification rule matches what happened, and under which key that is the same as another. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentstate.engine import guards
from sessions.automation.notifications.definition import Definition
from sessions.automation.rules.definition import NAMES
from sessions.automation.rules.matching import BadValue, Passed, matched

MAX_KEY = 200  # characters


def judged(definition: Definition, values: Mapping[str, Any], otherwise: str) -> str | Passed:
    """Returns the key on `values` (keys among NAMES), which is `otherwise` for a rule that names none."""

    def key(known: Mapping[str, Any]) -> str:
        found = guards.valued(definition.key, NAMES, known) if definition.key else otherwise
        if not isinstance(found, str) or not found:
            raise BadValue
        return found[:MAX_KEY]

    return matched(definition.when, values, key)
