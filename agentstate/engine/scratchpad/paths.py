"""Reading and writing a JSON object by path: `state.a.b`. Objects are merged by key, arrays and scalars replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentstate.errors import Invalid

Pad = dict[str, Any]
MAX_DEPTH = 32


class BadPath(Invalid):
    """The path does not name a place in the scratchpad."""

    code = "bad_path"


def parts(path: str) -> list[str]:
    """`state.customer.name` as its parts below `state`. Raises BadPath."""
    head, *rest = path.split(".")
    if head != "state" or not rest or not all(rest) or len(rest) > MAX_DEPTH:
        raise BadPath(f"got {path!r}, want state.<name>[.<name>...]", field="output_path")
    return rest


def read(pad: Pad, path: str) -> Any:
    """The value at `path`, or None where there is none."""
    value: Any = pad
    for part in parts(path):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def write(pad: Pad, path: str, value: Any) -> Pad:
    """A new pad with `value` merged in at `path`; `pad` itself is unchanged."""
    return put(pad, parts(path), value)


def put(pad: Pad, names: Sequence[str], value: Any) -> Pad:
    """The same at the path of these names, of which there is at least one."""
    head, *rest = names
    return {**pad, head: _write(pad.get(head), rest, value)}


def _write(node: Any, names: list[str], value: Any) -> Any:
    if not names:
        return merge(node, value)
    base = dict(node) if isinstance(node, dict) else {}
    base[names[0]] = _write(base.get(names[0]), names[1:], value)
    return base


def merge(old: Any, new: Any) -> Any:
    """`new` over `old`: objects by key, anything else replaced."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: merge(old.get(key), item) for key, item in new.items()}}
    return new
