"""Down a declared schema along a path of the state: what holds there, and from where it has to be judged.

Most places are plain: their own part of the schema says all about them, and a write is judged by that part alone. A
place below a choice (`anyOf`, `if`, ...) or a count (`maxProperties`) is judged from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from agentstate.engine import scratchpad
from agentstate.engine.schemas import compiled, declared, private

# What a schema may hold so that the parts of its value can be judged one by one.
_PLAIN = {"type", "properties", "additionalProperties", "required", "$ref", "$defs", "$schema", *declared.WORDS}
_PLAIN |= {"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"}
_KEPT_PATHS = 4_000


class Place(msgspec.Struct, frozen=True):
    """What the schema says of one path. `writers` is None where nobody is declared; `judged_from` is how many names of
    the path lead to the part of the schema that judges it; `in_array`: it is an item, or within one; `holds_writers`:
    some are declared below.
    """

    schema: Any
    writers: tuple[str, ...] | None
    private: bool
    judged_from: int
    in_array: bool
    holds_writers: bool


def place_of(schema: declared.Declared, path: str) -> Place:
    """What a declared schema says of a path, e.g. `state.customer.limit`. Raises BadPath."""
    return place(schema.source, tuple(scratchpad.parts(path)))


@lru_cache(maxsize=_KEPT_PATHS)
def place(source: bytes, names: tuple[str, ...]) -> Place:
    """The place `names` below the root. Its schema is False where nothing may stand, None where only a choice above
    knows.
    """
    root = declared.schema_of(source)
    node: Any = root
    writers = _writers(root, root)
    judged_from, plain, in_array = 0, True, False
    for depth, name in enumerate(names, 1):
        plain = plain and _is_plain(root, node)
        in_array = in_array or not _may_be(root, node, "object")
        node = below(root, node, name)
        writers = own if (own := _writers(root, node)) is not None else writers
        judged_from = depth if plain else judged_from
    return Place(node, writers, private.is_private(root, names), judged_from, in_array, _holds_writers(root, node))


@lru_cache(maxsize=_KEPT_PATHS)
def validator(source: bytes, names: tuple[str, ...], whole: bool) -> compiled.Validator:
    """The compiled part of the schema at `names`; unless `whole`, what it still requires is not asked for."""
    root = declared.schema_of(source if whole else form(source))
    node: Any = root
    for name in names:
        node = below(root, node, name)
    return compiled.build({**node, "$defs": root.get("$defs", {})} if isinstance(node, dict) else node is not False)


def layers(root: Any, node: Any) -> list[dict[str, Any]]:
    """`node` and the definitions that it refers to, one after the other."""
    found: list[dict[str, Any]] = []
    while isinstance(node, dict):
        found.append(node)
        node = root["$defs"][node["$ref"].removeprefix("#/$defs/")] if "$ref" in node else None
    return found


def below(root: Any, node: Any, name: str) -> Any:
    """The schema of what stands under `name` in a value of `node`: False for nothing, None for unknown."""
    if not isinstance(node, dict):
        return False if node is False else None
    if not (_may_be(root, node, "object") or (name.isdecimal() and _may_be(root, node, "array"))):
        return False
    said = [found for layer in layers(root, node) if (found := _said(layer, name)) is not None]
    if not said:
        return None
    return next((found for found in said if found is False), said[0])


def _may_be(root: Any, node: Any, kind: str) -> bool:
    types = [layer["type"] for layer in layers(root, node) if "type" in layer]
    return all(kind in ([each] if isinstance(each, str) else each) for each in types)


def _said(layer: dict[str, Any], name: str) -> Any:
    if name in layer.get("properties", {}):
        return layer["properties"][name]
    for pattern, schema in layer.get("patternProperties", {}).items():
        if compiled.matches(pattern, name):
            return schema
    if name.isdecimal() and ("items" in layer or "prefixItems" in layer):
        first = layer.get("prefixItems", [])
        return first[int(name)] if int(name) < len(first) else layer.get("items")
    return layer.get("additionalProperties")


def _is_plain(root: Any, node: Any) -> bool:
    found = layers(root, node)
    told = [layer for layer in found if "properties" in layer or "additionalProperties" in layer]
    return bool(found) and len(told) <= 1 and all(layer.keys() <= _PLAIN or _only_notes(layer) for layer in found)


def _only_notes(layer: dict[str, Any]) -> bool:
    return all(word in _PLAIN or re.match("x-(?!money)", word) for word in layer)


def _writers(root: Any, node: Any) -> tuple[str, ...] | None:
    return next((tuple(layer["x-writers"]) for layer in layers(root, node) if "x-writers" in layer), None)


def _holds_writers(root: Any, node: Any) -> bool:
    return any(path for path, _ in declared_below(root, node, "x-writers") if path)


def declared_below(root: Any, node: Any, word: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Where `word` is declared in `node` and below, with `*` for any name or item. A definition that holds itself is
    entered once.
    """
    waiting: list[tuple[tuple[str, ...], Any, frozenset[str]]] = [((), node, frozenset())]
    while waiting:
        names, part, entered = waiting.pop()
        for layer in layers(root, part):
            if layer.get("$ref") in entered:
                break
            entered |= {layer["$ref"]} if "$ref" in layer else frozenset()
            if word in layer:
                yield names, layer[word]
            waiting += [((*names, name), inner, entered) for name, inner in _inner(layer)]


def _inner(layer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from layer.get("properties", {}).items()
    for word in ("additionalProperties", "items"):
        if word in layer:
            yield "*", layer[word]
    for inner in (*layer.get("patternProperties", {}).values(), *layer.get("prefixItems", ())):
        yield "*", inner


@lru_cache(maxsize=200)
def form(source: bytes) -> bytes:
    """The schema as a form that may be half filled in: nothing is required, except inside a choice."""
    schema = dict(declared.schema_of(source))
    definitions = schema.pop("$defs", {})
    loose = {f"{name}.form": _form(part) for name, part in definitions.items()}
    return compiled.encode({**_form(schema), "$defs": {**definitions, **loose}})


def _form(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    kept = {word: value for word, value in part.items() if word not in ("required", "minProperties")}
    for word in ("properties", "patternProperties"):
        if word in kept:
            kept[word] = {name: _form(inner) for name, inner in kept[word].items()}
    for word in ("additionalProperties", "items"):
        if word in kept:
            kept[word] = _form(kept[word])
    if "prefixItems" in kept:
        kept["prefixItems"] = [_form(inner) for inner in kept["prefixItems"]]
    if "$ref" in kept:
        kept["$ref"] += ".form"
    return kept
