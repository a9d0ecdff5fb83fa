"""Scopes: the allow-list of what a tool, a delegate or an answering model may see. Nothing else reaches it.

A scope is a kind of message (`input`) or a path below one (`state.customer`), with or without its dagger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentstate.engine import references
from agentstate.engine.references import Found, Path, Views


def read(scope: str) -> Path:
    """A scope as a path. Raises BadReference."""
    return references.path(scope)


def allows(scopes: Iterable[Path], path: Path) -> bool:
    """Whether `path` stands within one of the scopes."""
    return any(scope.kind == path.kind and path.names[: len(scope.names)] == scope.names for scope in scopes)


def narrowed(views: Views, scopes: Iterable[str]) -> dict[str, Any]:
    """What the scopes let through of `views`: what they name, below objects that hold nothing else. A path that leads
    through a list lets nothing through. Raises BadReference.
    """
    shown: dict[str, Any] = {}
    whole: set[tuple[str, ...]] = set()
    for path in sorted({read(scope) for scope in scopes}, key=lambda path: (len(path.names), path)):
        names = (path.kind, *path.names)
        if any(names[:count] in whole for count in range(1, len(names))):
            continue  # it stands in what is shown already
        found = _member(views, names)
        if found is not None:
            whole.add(names)
            _show(shown, names, found.value)
    return shown


def _member(node: Any, names: tuple[str, ...]) -> Found | None:
    for name in names:
        if not isinstance(node, Mapping) or name not in node:
            return None
        node = node[name]
    return Found(node)


def _show(shown: dict[str, Any], names: tuple[str, ...], value: Any) -> None:
    *above, last = names
    for name in above:
        shown = shown.setdefault(name, {})
    shown[last] = value
