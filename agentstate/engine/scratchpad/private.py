"""What is private of a session's state and data, for readers that know paths and no schema.

A path that leads through a list means each of its items. The path of a kind without names (`state`, `notes`) means all
of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agentstate.engine.references import Path
from agentstate.engine.scratchpad.messages import Board, PrivateSchemas, shown
from agentstate.engine.scratchpad.paths import Pad
from agentstate.errors import AgentStateError


def met_by(read: Path, hidden: Iterable[Path]) -> Path | None:
    """Returns the first private place that a path leads to, into or through; None: none."""
    return next((each for each in hidden if _meet(read, each)), None)


def _meet(one: Path, other: Path) -> bool:
    return below(one, other) is not None


def below(place: Path, hidden: Path) -> tuple[str, ...] | None:
    """Returns the names below `place` at which a private place begins; none where the place lies in it, None where the
    two do not meet.
    """
    names = [name for name in place.names if not (name.isascii() and name.isdigit())]
    if place.kind != hidden.kind or any(a != b for a, b in zip(names, hidden.names, strict=False)):
        return None
    return hidden.names[len(names) :]


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


def visible_views(views: Any, board: Board, paths: Iterable[str], brought: PrivateSchemas) -> dict[str, Any]:
    """Returns what references may read, without what is private in the scratchpad and in the objects of `board`."""
    return {**views, **shown(board, brought), "state": visible(views["state"], paths)}


def without(node: Any, names: Sequence[str]) -> Any:
    """Returns a value without what stands at the path of these names."""
    if isinstance(node, list):
        return [without(item, names) for item in node]
    if not isinstance(node, dict) or names[0] not in node:
        return node
    if len(names) == 1:
        return {key: item for key, item in node.items() if key != names[0]}
    return {**node, names[0]: without(node[names[0]], names[1:])}
