"""A declared schema in lines for a page or a program: what may stand where, who may write it, how changes merge."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from agentstate.engine.migrating.steps import path_of
from agentstate.engine.schemas import Declared
from agentstate.engine.schemas.descent import layers, place

MOST_LINES = 200
MOST_LEVELS = 4


class PlaceLine(msgspec.Struct, frozen=True):
    """One place of a state. `merge` is the declared merge type or rule for clashes, in words; empty: none."""

    path: str
    title: str
    type: str
    writers: Annotated[tuple[str, ...], Meta(description="e.g. tool:authorize, staff:supervisor")]
    private: Annotated[bool, Meta(description="kept out of every model request")]
    merge: Annotated[str, Meta(description="how concurrent changes of it merge; empty: a clash is refused")]
    required: bool


def overview(declared: Declared) -> list[PlaceLine]:
    """The places of a schema, parents before what is in them, at most MOST_LINES."""
    found: list[PlaceLine] = []
    waiting: list[tuple[tuple[str, ...], Any, bool]] = [((), declared.schema, False)]
    while waiting and len(found) < MOST_LINES:
        names, node, required = waiting.pop()
        words = layers(declared.schema, node)
        if names:
            found.append(_line(declared, names, words, required))
        if len(names) < MOST_LEVELS:
            needed = {name for layer in words for name in layer.get("required", ())}
            inner = [(name, part) for layer in words for name, part in layer.get("properties", {}).items()]
            waiting += [((*names, name), part, name in needed) for name, part in reversed(inner) if part is not False]
    return found


def _line(declared: Declared, names: tuple[str, ...], words: list[dict[str, Any]], required: bool) -> PlaceLine:
    said = place(declared.source, names)
    return PlaceLine(
        path=path_of(names),
        title=str(next((layer["title"] for layer in words if "title" in layer), "")),
        type=_type(words),
        writers=said.writers or (),
        private=said.private,
        merge=_merge(next((layer["x-merge"] for layer in words if "x-merge" in layer), "")),
        required=required,
    )


def _type(words: list[dict[str, Any]]) -> str:
    for layer in words:
        if layer.get("x-money") is True:
            return "money"
        if "type" in layer:
            return layer["type"] if isinstance(layer["type"], str) else " or ".join(layer["type"])
        if "enum" in layer:
            return "choice"
    return ""


def _merge(declared: Any) -> str:
    if isinstance(declared, dict):
        return ", ".join(str(declared[word]) for word in ("merge", "clash") if declared.get(word))
    return str(declared)
