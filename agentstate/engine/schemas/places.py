"""Where schemas stand within a schema: the words of JSON Schema that hold others, and their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ONE: tuple[str, ...] = ("additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames")
ONE += ("unevaluatedItems", "unevaluatedProperties", "contentSchema")
LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
MAP = ("properties", "patternProperties", "dependentSchemas", "$defs")


def children(part: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The schemas directly within `part`: the word that holds it, its place below `part`, itself."""
    for word in ONE:
        if word in part:
            yield word, f"/{word}", part[word]
    for word in LIST:
        if isinstance(part.get(word), list):
            for index, item in enumerate(part[word]):
                yield word, f"/{word}/{index}", item
    for word in MAP:
        if isinstance(part.get(word), dict):
            for name, item in part[word].items():
                yield word, f"/{word}/{name.replace('~', '~0').replace('/', '~1')}", item


def parts(schema: Any, at: str = "schema") -> Iterator[tuple[str, Any]]:
    """Every schema within `schema`, itself first, with its place, e.g. `schema/properties/amount`."""
    waiting = [(at, schema)]
    while waiting:
        path, part = waiting.pop()
        yield path, part
        if isinstance(part, dict):
            waiting += [(path + place, inner) for _, place, inner in children(part)]


def held_in(schema: Any, but: tuple[str, ...] = ()) -> Iterator[Any]:
    """Every schema within `schema`, itself first, but none of its `$defs` nor under the words in `but`."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, dict):
            waiting += [inner for word, _, inner in children(part) if word != "$defs" and word not in but]
