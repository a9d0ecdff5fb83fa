"""What a guard (`_when`) reads of the state, so that it is asked when its values have come and not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from agentstate.engine import guards, references
from agentstate.engine.guards.syntax import Apply, Const, Field, Name, Node, children, walk
from agentstate.engine.references import MAX_NAMES, Path, Views

NAMES = ("state", "input", "arguments")  # what a guard may read


@lru_cache(maxsize=4_096)
def reads(expression: str) -> tuple[Path, ...]:
    """The paths of the state that a guard names, as far as it names them; `state` itself has no names. Raises
    BadGuard.
    """
    if not expression:
        return ()
    return tuple(dict.fromkeys(_read(compiled(expression).tree)))


@lru_cache(maxsize=4_096)
def needs(expression: str) -> tuple[Path, ...]:
    """Those of the paths that a guard reads without asking anywhere whether they are there (`has`). Raises BadGuard."""
    if not expression:
        return ()
    tree = compiled(expression).tree
    asked = {_chain(node) for node in walk(tree) if isinstance(node, Field) and node.asked}
    return tuple(
        path
        for path in reads(expression)
        if not any(path.names[:count] in asked for count in range(len(path.names) + 1))
    )


@lru_cache(maxsize=4_096)
def asks_for_arguments(expression: str) -> bool:
    """Whether a guard reads the call's arguments. Raises BadGuard."""
    tree = compiled(expression).tree
    return any(isinstance(node, Name) and node.name == "arguments" for node in walk(tree))


def compiled(expression: str) -> guards.Expression:
    """A guard, if it is a question that a plan can ask. Raises BadGuard."""
    made = guards.expressed(expression, NAMES)
    if made.asks:
        raise guards.BadGuard("a plan has no states to be In()")
    guards.must_ask(made)
    return made


def holds(expression: str, views: Views, arguments: Mapping[str, Any]) -> bool:
    """Whether a guard says yes. Raises BadGuard, UnreadableGuard."""
    shown = {"state": seen(expression, views.get("state", {})), "input": views.get("input", {}), "arguments": arguments}
    return guards.answered(expression, NAMES, shown)


def seen(expression: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """What a guard sees of the state: the values it names, below objects that are there for it alone. So whether
    `has(state.checks.fraud)` can be read does not hang on who else has written to `state.checks` by then.
    """
    shown: dict[str, Any] = {}
    for path in sorted(reads(expression), key=lambda path: len(path.names)):
        if not path.names:
            return dict(state)
        _show(shown, path.names, state, {found.names for found in reads(expression)})
    return shown


def _show(shown: dict[str, Any], names: tuple[str, ...], state: Mapping[str, Any], named: set[tuple[str, ...]]) -> None:
    for count in range(1, len(names)):
        if names[:count] in named:
            return  # it stands in what is shown already, or there is nothing
    *above, last = names
    found = references.read({"state": state}, Path("state", names))
    for name in above:
        shown = shown.setdefault(name, {})
    if found is not None:
        shown[last] = found.value


def _read(node: Node) -> Iterator[Path]:
    names = _chain(node)
    if names is not None:
        yield Path("state", names[:MAX_NAMES])
        return
    for child in children(node):
        yield from _read(child)


def _chain(node: Node) -> tuple[str, ...] | None:
    """The names below `state` that a node selects one after the other, or None when it selects something else."""
    match node:
        case Name(name="state"):
            return ()
        case Field(of=of, name=name):
            above = _chain(of)
            return None if above is None else (*above, name)
        case Apply(function="_[_]", arguments=(of, Const(value=str(name)))):
            above = _chain(of)
            return None if above is None else (*above, name)
    return None
