"""What a declared schema keeps private of a value: where the private places are, and the value without them.

JSON Schema lets several parts of a schema speak about one value: its own, what it refers to, the alternatives of a
choice, each pattern that a key matches. A value is private as soon as one of them says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from agentstate.engine.schemas import compiled
from agentstate.engine.schemas.declared import Declared, schema_of
from agentstate.engine.schemas.places import children
from agentstate.engine.scratchpad import Pad

HIDDEN = "(private)"
_ABSENT = object()
_SAME = ("allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas")  # about the value itself
_ITEMS = ("items", "prefixItems", "contains", "unevaluatedItems")
_REST = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_NAME = re.compile(r"(?!\d+\Z)[^.]+")  # a key that a path can name; a number in a path is an index
Layers = list[dict[str, Any]]


def private_paths(declared: Declared) -> tuple[str, ...]:
    """The private places as paths, for readers that know no schema. A path leads through every item of an array. What
    is private under keys that no path names, or at any depth of a definition that holds itself, hides the object.
    """
    return _private_paths(declared.source)


@lru_cache(maxsize=500)
def _private_paths(source: bytes) -> tuple[str, ...]:
    root = schema_of(source)
    found: set[str] = set()
    waiting: list[tuple[tuple[str, ...], list[Any], frozenset[int]]] = [((), [root], frozenset())]
    while waiting:
        names, nodes, entered = waiting.pop()
        layers = _layers(root, nodes)
        if not _holds(root, layers):
            continue
        met = entered | {id(layer) for layer in layers}
        rest = [part for layer in layers for part in _parts(layer, _REST)]
        rest += [part for layer in layers for name, part in _named(layer) if not _NAME.fullmatch(name)]
        if _says(layers) or len(met) < len(entered) + len(layers) or _holds(root, rest):
            found.add(".".join(["state", *names]))
            continue
        below: dict[tuple[str, ...], list[Any]] = {names: [part for layer in layers for part in _parts(layer, _ITEMS)]}
        for name, part in (each for layer in layers for each in _named(layer)):
            below.setdefault((*names, name), []).append(part)
        waiting += [(to, parts, met) for to, parts in below.items()]
    return tuple(sorted(found))


def without_private(declared: Declared | None, pad: Pad, instead: str | None = None) -> Pad:
    """The state without its private values, or with `instead` in their place. Values outside of the schema stay."""
    if declared is None:
        return pad
    kept = without_private_at(declared, (), pad, instead)
    return kept if isinstance(kept, dict) else {}


def without_private_at(declared: Declared, names: Iterable[str], value: Any, instead: str | None) -> Any:
    """Returns the value at the path of these names with `instead` for what is private in it; for all of it where the
    path leads into a private place.
    """
    if not private_paths(declared):
        return value
    kept = _open(declared.schema, _at(declared.schema, names), value, instead)
    return {} if kept is _ABSENT else kept


def is_private(root: Any, names: Iterable[str]) -> bool:
    """Returns whether the path of these names leads to a private place or into one."""
    return _says(_at(root, names))


def _at(root: Any, names: Iterable[str]) -> Layers:
    """The parts that speak about the place at this path; about the private place that it leads into, if it does."""
    layers = _layers(root, [root])
    for name in names:
        if _says(layers):
            break
        layers = _layers(root, _below(layers, name))
    return layers


def _open(root: Any, layers: Layers, value: Any, instead: str | None) -> Any:
    """`value` without what is private in it; _ABSENT when it is private itself and nothing stands instead."""
    if _says(layers):
        return _ABSENT if instead is None else instead
    if not layers or not isinstance(value, dict | list):
        return value
    pairs = value.items() if isinstance(value, dict) else ((str(index), item) for index, item in enumerate(value))
    kept = {name: _open(root, _layers(root, _below(layers, name)), item, instead) for name, item in pairs}
    kept = {name: item for name, item in kept.items() if item is not _ABSENT}
    return kept if isinstance(value, dict) else list(kept.values())


def _says(layers: Layers) -> bool:
    return any(layer.get("x-private") is True for layer in layers)


def _layers(root: Any, nodes: Iterable[Any]) -> Layers:
    """Every part that speaks about the value of which `nodes` speak."""
    found: dict[int, dict[str, Any]] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict) and id(node) not in found:
            found[id(node)] = node
            waiting += [*_referred(root, node), *_parts(node, _SAME)]
    return list(found.values())


def _holds(root: Any, nodes: Iterable[Any]) -> bool:
    """Whether one of these parts, or what is within it at any depth, is private."""
    seen: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        if node.get("x-private") is True:
            return True
        seen.add(id(node))
        waiting += [*_referred(root, node), *(inner for word, _, inner in children(node) if word != "$defs")]
    return False


def _below(layers: Layers, name: str) -> Iterator[Any]:
    """The parts that speak about what stands under `name` in an object, or at that index of an array."""
    for layer in layers:
        own = [part for key, part in _named(layer) if key == name]
        patterns = layer.get("patternProperties", {})
        own += [part for pattern, part in patterns.items() if compiled.matches(pattern, name)]
        yield from own or _parts(layer, ("additionalProperties",))
        yield from _parts(layer, ("unevaluatedProperties",))
        if name.isdecimal():
            first = layer.get("prefixItems", [])
            yield from first[int(name) : int(name) + 1] or _parts(layer, ("items",))
            yield from _parts(layer, ("contains", "unevaluatedItems"))


def _named(layer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from layer.get("properties", {}).items()


def _parts(layer: dict[str, Any], words: tuple[str, ...]) -> Iterator[Any]:
    return (inner for word, _, inner in children(layer) if word in words)


def _referred(root: Any, node: dict[str, Any]) -> list[Any]:
    return [root["$defs"][node["$ref"].removeprefix("#/$defs/")]] if "$ref" in node else []
