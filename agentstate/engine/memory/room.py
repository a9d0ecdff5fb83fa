"""What a model is shown of a value that is larger than its room: the most important parts, the others by name and size.

A part that is left out stays in the state. A model reads that it is there; a plan can hand it to a tool by reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentstate.engine.memory.shown import json_text

KEYS = 10  # of an object that is only named, and parts of an object that are named one by one
NAMED = 60  # characters that naming a part takes, about
Names = tuple[str, ...]
NOWHERE: Mapping[Names, int] = {}


def fitted(value: Any, room: int, important: Mapping[Names, int] = NOWHERE, names: Names = ()) -> Any:
    """Returns the value in about `room` characters of JSON; the value itself where it fits.

    Parts of an object come in the order of their declared importance (`important`, by names, 0 where none is
    declared), then the smallest first. What does not fit becomes `{"not_shown": "4096 characters", "keys": [...]}`.
    """
    text = json_text(value)
    if len(text) <= room:
        return value
    if room < NAMED or not isinstance(value, dict | list):
        return left_out(value, len(text))
    return _first(value, room) if isinstance(value, list) else _parts(value, room, important, names)


def _first(value: list[Any], room: int) -> list[Any]:
    """The first items, and how many more there are."""
    shown: list[Any] = []
    room -= NAMED
    for item in value:
        room -= len(json_text(item)) + 2
        if room < 0:
            break
        shown.append(item)
    return [*shown, {"not_shown": f"{len(value) - len(shown)} more items"}]


def _parts(value: dict[str, Any], room: int, important: Mapping[Names, int], names: Names) -> dict[str, Any]:
    sizes = {key: len(json_text(part)) + len(key) + 4 for key, part in value.items()}
    weights = {key: _weight(important, (*names, key)) for key in value}
    shown: dict[str, Any] = {}
    hidden = 0
    for key in sorted(value, key=lambda each: (-weights[each], sizes[each])):
        if sizes[key] <= room:
            shown[key], room = value[key], room - sizes[key]
        elif hidden < KEYS and room >= NAMED:
            shown[key] = fitted(value[key], room // 2, important, (*names, key))
            room -= len(json_text(shown[key])) + len(key) + 4
            hidden += 1
    left = len(value) - len(shown)
    ordered = {key: shown[key] for key in value if key in shown}
    return {**ordered, **({"not_shown": f"{left} more values"} if left else {})}


def _weight(important: Mapping[Names, int], names: Names) -> int:
    """The importance of a place: the highest that is declared for it or for a place within it."""
    return max((weight for at, weight in important.items() if at[: len(names)] == names), default=0)


def left_out(value: Any, characters: int) -> dict[str, Any]:
    """Returns what stands for a value that is not shown: its size and, of an object, its first keys."""
    keys = [key[:40] for key in list(value)[:KEYS]] if isinstance(value, dict) else []
    return {"not_shown": f"{characters} characters", **({"keys": keys} if keys else {})}
