"""What a team sets up, as data: alert rules, targets of service levels, calendars; and what is shipped. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from sessions.automation.alerts import definition as rules
from sessions.automation.service_levels import definition as targets
from sessions.text import calendars
from sessions.text.calendars import Calendar

What = Literal["calendar", "target", "rule"]
WHATS: tuple[What, ...] = get_args(What)  # targets name calendars, rules name targets
SHIPPED = Path(__file__).resolve().parents[2] / "shipped" / "alerts"


def checked(what: str, data: Any) -> dict[str, Any]:
    """The definition as it is stored, all defaults included. Raises BadRule, BadGuard, BadTarget, BadCalendar."""
    return _CHECKED[what](data)


def _rule(data: Any) -> dict[str, Any]:
    return rules.dump(rules.load(data))


def _target(data: Any) -> dict[str, Any]:
    return targets.dump(targets.load(data))


def _calendar(data: Any) -> dict[str, Any]:
    try:
        found = msgspec.convert(data, Calendar)
    except msgspec.ValidationError as error:
        raise calendars.BadCalendar(str(error)[:300], field="definition") from None
    calendars.check(found, "definition")
    built: dict[str, Any] = msgspec.to_builtins(found)
    return built


_CHECKED: Mapping[str, Callable[[Any], dict[str, Any]]] = {"rule": _rule, "target": _target, "calendar": _calendar}


@lru_cache
def shipped() -> tuple[tuple[What, str, Any], ...]:
    """What a new team begins with."""
    return tuple(
        (what, file.stem, msgspec.json.decode(file.read_bytes()))
        for what in WHATS
        for file in sorted((SHIPPED / f"{what}s").glob("*.json"))
    )
