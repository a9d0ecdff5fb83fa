"""What a session's entries teach, by the declared rules: observations of preferences, records of the history.

Pure: a happening and the declaration in, items for `profile.learned` out. A rule that cannot be read on a happening
says nothing, and a value that is none of its preference is not learned: what is uncertain teaches nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec

from agentstate.engine import guards
from agentstate.engine.profile.declared import Declaration, HistoryKind, LearningRule, NotingRule
from agentstate.engine.profile.events import Noted, Observed
from agentstate.engine.profile.values import LONGEST_TEXT


class Happening(msgspec.Struct, frozen=True):
    """One entry of a session. `event` is its data; for a result, `tool` and `arguments` are those of its call.

    `session` holds what rules may ask of the session: `agent`, `channel`, `topic`, and `delegated`: whether it did a
    task of another session.
    """

    seq: int
    at: str
    kind: str
    event: dict[str, Any] = {}
    tool: str = ""
    arguments: dict[str, Any] = {}
    session: dict[str, Any] = {}

    def values(self) -> dict[str, Any]:
        """What rules read, by the names that paths and questions begin with."""
        return {"arguments": self.arguments, "event": self.event, "session": self.session}


def observed(declared: Declaration, happenings: Iterable[Happening]) -> tuple[Observed, ...]:
    """What the happenings say about preferences, in their order."""
    found = [_observed(declared, rule, each) for each in happenings for rule in declared.learning if _meant(rule, each)]
    return tuple(item for item in found if item is not None)


def noted(declared: Declaration, happenings: Iterable[Happening]) -> tuple[Noted, ...]:
    """What the happenings add to the history, in their order."""
    kinds = {kind.name: kind for kind in declared.histories}
    found = [
        _noted(kinds[rule.history], rule, each) for each in happenings for rule in declared.noting if _meant(rule, each)
    ]
    return tuple(item for item in found if item is not None)


def _meant(rule: LearningRule | NotingRule, happening: Happening) -> bool:
    if rule.on != happening.kind or (rule.tool and rule.tool != happening.tool):
        return False
    try:
        return guards.holds(rule.when, happening.values())
    except (guards.BadGuard, guards.UnreadableGuard):
        return False


def _observed(declared: Declaration, rule: LearningRule, happening: Happening) -> Observed | None:
    kind = declared.preference(rule.preference)
    value = rule.value if rule.path is None else at_path(happening.values(), rule.path)
    if kind is None or kind.value.fault(value):
        return None
    return Observed(kind.name, value, rule.weight, happening.seq, happening.at, rule.name, kind.purpose, kind.half_life)


def _noted(kind: HistoryKind, rule: NotingRule, happening: Happening) -> Noted | None:
    """A record needs every field of it: half a transfer is none."""
    values = {name: _small(at_path(happening.values(), path)) for name, path in rule.take.items()}
    if any(value is None for value in values.values()):
        return None
    return Noted(kind.name, values, happening.seq, happening.at, rule.name, kind.purpose, kind.form, kind.keep)


def at_path(values: dict[str, Any], path: str) -> Any:
    """What stands at a dotted path below `values`; None where nothing does."""
    found: Any = values
    for part in path.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(part)
    return found


def _small(value: Any) -> Any:
    """A value that a record may hold: a scalar, bounded, or an amount of money; None for anything else."""
    if isinstance(value, bool | int | Decimal):
        return value
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, dict) and value.keys() == {"minor", "currency"}:
        minor, currency = value["minor"], value["currency"]
        return value if isinstance(minor, int) and isinstance(currency, str) and len(currency) <= 8 else None
    return None
