"""What is private of a session's state and data, for readers that know paths and no schema.

A path that leads through a list means each of its items. The path of a kind without names (`state`, `notes`) means all
of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agentstate.engine.references import Path, path
from agentstate.engine.scratchpad.messages import Board, private, shown
from agentstate.engine.scratchpad.paths import Pad
from agentstate.errors import AgentStateError


def private_of(paths: Iterable[str], boards: Iterable[Board]) -> tuple[Path, ...]:
    """Returns the private places of a state, which are `paths`, and of data messages."""
    return tuple(map(path, dict.fromkeys((*paths, *(found for board in boards for found in private(board))))))


def met_by(read: Path, hidden: Iterable[Path]) -> Path | None:
    """Returns the first private place that a path leads to, into or through; None: none."""
    return next((each for each in hidden if _meet(read, each)), None)


def _meet(one: Path, other: Path) -> bool:
    names = [name for name in one.names if not (name.isascii() and name.isdigit())]
    return one.kind == other.kind and all(a == b for a, b in zip(names, other.names, strict=False))


def detail_without(error: AgentStateError, paths: Iterable[str]) -> str:
    """Returns what an error says; of one below a private place, that place and the rule: a key may be private."""
    names = [name for name in str(error.facts.get("field", "")).split(".") if not name.isdigit()]
    for each in paths:
        hidden = each.split(".")
        if len(names) > len(hidden) and names[: len(hidden)] == hidden:
            return f"{each}: {error.facts.get('rule') or error.code}"
    return error.detail


def visible(pad: Pad, paths: Iterable[str]) -> Pad:
    """Returns the scratchpad without its private paths."""
    for each in paths:
        names = each.split(".")[1:]
        pad = without(pad, names) if names else {}
    return pad


def visible_views(views: Any, board: Board, paths: Iterable[str]) -> dict[str, Any]:
    """Returns what references may read, without what is private in the scratchpad and in the objects of `board`."""
    return {**views, **shown(board), "state": visible(views["state"], paths)}


def without(node: Any, names: Sequence[str]) -> Any:
    """Returns a value without what stands at the path of these names."""
    if isinstance(node, list):
        return [without(item, names) for item in node]
    if not isinstance(node, dict) or names[0] not in node:
        return node
    if len(names) == 1:
        return {key: item for key, item in node.items() if key != names[0]}
    return {**node, names[0]: without(node[names[0]], names[1:])}
