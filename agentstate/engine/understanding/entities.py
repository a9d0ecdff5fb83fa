"""Entities: the things, people, places and events that a conversation is about, as results of tools show them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from agentstate.engine.understanding.ontology import EntityType, Ontology, Source

MOST_TEXT = 120  # characters of a label or a value
MOST_FOUND = 40  # entities taken from one result
MOST_ATTRIBUTES = 24
MOST_NUMBER = 2**63
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}


class Entity(msgspec.Struct, frozen=True):
    """One entity. `attributes` hold plain values: text, whole numbers, Decimals, {minor, currency}, ids of others.
    `place` is where the result that gave it was written, as its output path; empty: nowhere.
    """

    id: str
    type: str
    label: str
    attributes: dict[str, Any] = {}
    place: str = ""


@lru_cache(maxsize=64)
def types_of(ontology: Ontology) -> Mapping[str, EntityType]:
    """The declared types by name."""
    return {kind.name: kind for kind in ontology.types}


def entity(
    identifier: str, type_name: str, label: str, attributes: Mapping[str, Any] | None = None, place: str = ""
) -> Entity:
    """Returns an entity with everything cut to size."""
    return Entity(
        identifier[:MOST_TEXT],
        type_name,
        label[:MOST_TEXT],
        {key: _plain(value) for key, value in list((attributes or {}).items())[:MOST_ATTRIBUTES]},
        place,
    )


def _plain(value: Any) -> Any:
    """A value that may be kept: scalars and money; anything else is no attribute."""
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if isinstance(value, int) and not -MOST_NUMBER < value < MOST_NUMBER:
        return None
    if value is None or isinstance(value, bool | int | Decimal):
        return value
    if isinstance(value, dict) and type(value.get("minor")) is int:
        if not -MOST_NUMBER < value["minor"] < MOST_NUMBER:
            return None
        return {"minor": value["minor"], "currency": str(value.get("currency", ""))[:8]}
    return None


def declared(ontology: Ontology, tool: str, result: Any, written: str = "") -> list[Entity]:
    """The entities that `tool` is declared to give in `result`, which was written to the path `written`. Never raises:
    what is not where it was declared is not there.
    """
    found: list[Entity] = []
    for source in ontology.sources:
        if source.tool == tool:
            for place in _places(result, source.path):
                made = _from(ontology, source, place, written)
                if made is not None and len(found) < MOST_FOUND:
                    found.append(made)
    return found


def _places(result: Any, path: str) -> list[dict[str, Any]]:
    value = _at(result, path)
    if isinstance(value, list):
        return [place for place in value[:MOST_FOUND] if isinstance(place, dict)]
    return [value] if isinstance(value, dict) else []


def _at(value: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _from(ontology: Ontology, source: Source, place: dict[str, Any], written: str) -> Entity | None:
    kind = types_of(ontology)[source.type]
    identifier = filled(source.id, place)
    if not identifier:
        return None
    paths = {name: source.attributes.get(name, name) for name in kind.attributes}
    attributes = {name: value for name, path in paths.items() if (value := _at(place, path)) is not None}
    return entity(identifier, source.type, filled(source.label, place) or identifier, attributes, written)


def filled(template: str, place: dict[str, Any]) -> str:
    """`template` with each `{path}` replaced by that value of `place`; empty when one is missing."""
    head, *rest = template.split("{")
    parts = [head]
    for piece in rest:
        path, closed, tail = piece.partition("}")
        value = _at(place, path) if closed else None
        if value is None:
            return ""
        parts += [said(value), tail]
    return "".join(parts)[:MOST_TEXT]


def said(value: Any) -> str:
    """A value as it is said: money with its sign, anything else as text."""
    if isinstance(value, int) and not -MOST_NUMBER < value < MOST_NUMBER:
        return ""
    if isinstance(value, dict) and type(value.get("minor")) is int and -MOST_NUMBER < value["minor"] < MOST_NUMBER:
        minor, currency = value["minor"], str(value.get("currency", ""))
        text = f"{abs(minor) // 100:,}.{abs(minor) % 100:02d}"
        sign = _SIGNS.get(currency, "")
        return f"{'-' if minor < 0 else ''}{sign}{text}" + ("" if sign else f" {currency}")
    return str(value) if isinstance(value, str | int | Decimal) else ""
