"""Changing the objects that a path leads to. `*` stands for every item of an array and every key of an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentstate.engine.migrating.refusals import CannotMigrate

Fields = dict[str, Any]


def at_parents(pad: Fields, names: tuple[str, ...], change: Callable[[Fields], Fields]) -> Fields:
    """A new state in which every object at `names` is what `change` makes of it; `pad` itself is unchanged."""
    changed: Fields = _at(pad, names, change)
    return changed


def _at(node: Any, names: tuple[str, ...], change: Callable[[Fields], Fields]) -> Any:
    if not names:
        return change(node) if isinstance(node, dict) else node
    head, rest = names[0], names[1:]
    if isinstance(node, list) and head == "*":
        return [_at(item, rest, change) for item in node]
    if not isinstance(node, dict):
        return node
    chosen = node if head == "*" else {head} & node.keys()
    return {name: _at(item, rest, change) if name in chosen else item for name, item in node.items()}


def renamed(fields: Fields, name: str, to: str, path: str) -> Fields:
    """`fields` with `name` called `to`, at the same place. Raises CannotMigrate when `to` is taken."""
    if to in fields:
        raise CannotMigrate(path, "taken", f"there is a {to} already")
    return {to if key == name else key: value for key, value in fields.items()}


def without(fields: Fields, *names: str) -> Fields:
    """`fields` without `names`."""
    return {key: value for key, value in fields.items() if key not in names}


def taken_out(pad: Fields, names: tuple[str, ...], tidy: bool) -> Fields:
    """A new state without the value at `names` (no `*`); `tidy`: without the objects that it was alone in."""
    head, rest = names[0], names[1:]
    inner = taken_out(pad[head], rest, tidy) if rest else {}
    return {**pad, head: inner} if rest and (inner or not tidy) else without(pad, head)


def put_in(pad: Fields, names: tuple[str, ...], value: Any, path: str) -> Fields:
    """A new state with `value` at `names`. Raises CannotMigrate when something stands there or in the way."""
    head, rest = names[0], names[1:]
    if not rest:
        if head in pad:
            raise CannotMigrate(path, "taken", "something stands there already")
        return {**pad, head: value}
    below = pad.get(head, {})
    if not isinstance(below, dict):
        raise CannotMigrate(path, "type", f"{head} is no object")
    return {**pad, head: put_in(below, rest, value, path)}


def found(pad: Any, names: tuple[str, ...]) -> bool:
    """Whether there is a value at `names` (no `*`)."""
    for name in names:
        if not isinstance(pad, dict) or name not in pad:
            return False
        pad = pad[name]
    return True


def value_at(pad: Any, names: tuple[str, ...]) -> Any:
    """The value at `names`, which is there."""
    for name in names:
        pad = pad[name]
    return pad
