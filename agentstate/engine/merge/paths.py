"""Reading, putting and removing one value of a scratchpad by its path. Unlike an output, what is put replaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentstate.engine import scratchpad
from agentstate.engine.merge.values import ABSENT
from agentstate.engine.scratchpad import Pad


def read(pad: Pad, path: str) -> Any:
    """The value at `path`, or ABSENT. Raises BadPath."""
    value: Any = pad
    for name in scratchpad.parts(path):
        if not isinstance(value, dict) or name not in value:
            return ABSENT
        value = value[name]
    return value


def put(pad: Pad, path: str, value: Any) -> Pad:
    """A new pad in which `value` stands at `path`, in the place of anything that stood there or in its way."""
    head, *rest = scratchpad.parts(path)
    return {**pad, head: _put(pad.get(head), rest, value)}


def _put(node: Any, names: list[str], value: Any) -> Any:
    if not names:
        return value
    base = dict(node) if isinstance(node, dict) else {}
    base[names[0]] = _put(base.get(names[0]), names[1:], value)
    return base


def removed(pad: Pad, path: str) -> Pad:
    """A new pad without `path`; the same one when nothing stands there."""
    return pad if read(pad, path) is ABSENT else _removed(pad, scratchpad.parts(path))


def _removed(node: Pad, names: list[str]) -> Pad:
    if len(names) == 1:
        return {key: value for key, value in node.items() if key != names[0]}
    return {**node, names[0]: _removed(node[names[0]], names[1:])}


def in_the_way(pad: Pad, names: Sequence[str]) -> str:
    """The path of a value that is no object and stands above the place of these names; empty when there is none."""
    value: Any = pad
    for depth, name in enumerate(names[:-1], 1):
        if name not in value:
            return ""
        value = value[name]
        if not isinstance(value, dict):
            return "state." + ".".join(names[:depth])
    return ""
