"""What is enforced on the way out: a value is there, of its type and in its range, before anything acts on it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from agentstate.engine import scratchpad
from agentstate.engine.schemas import bounds, compiled
from agentstate.engine.schemas.compiled import Problem
from agentstate.engine.schemas.declared import Declared
from agentstate.engine.schemas.descent import below, layers, place, validator
from agentstate.engine.schemas.keywords import Schema
from agentstate.engine.schemas.refusals import BreaksSchema, MissingValue, OutOfRange, WrongType
from agentstate.engine.scratchpad import Pad

HIDDEN = "(private)"
MAX_MISSING = 100
_ABSENT = object()
_TYPED = {"type", "enum", "const", "x-money", "anyOf", "oneOf", "allOf"}  # words that say of which type a value is
_OF_TYPE = ("type", "x-money", "float", "not_json", "text")


def read(declared: Declared | None, pad: Pad, path: str, want: Schema | None = None) -> Any:
    """The value at `path`, whole, as the schema there and `want` ask for it.

    Raises MissingValue, WrongType or OutOfRange, each naming path and rule.
    """
    names = tuple(scratchpad.parts(path))
    value = _at(pad, names)
    if value is _ABSENT:
        raise MissingValue(path, "required")
    try:
        if declared is not None:
            _judge(declared, names, value, path, pad)
        if want is not None:
            compiled.validate(want, value, path)
    except BreaksSchema as broken:
        raise _named(broken) from None
    return value


def _judge(declared: Declared, names: tuple[str, ...], value: Any, path: str, pad: Pad) -> None:
    found = place(declared.source, names)
    if found.schema is False:
        raise BreaksSchema(path, "additionalProperties", "it has no place in the state")
    bounds.check(value, path)
    above = names[: found.judged_from]
    compiled.judge(validator(declared.source, above, True), _at(pad, above), ".".join(["state", *above]))


def misfit_at(declared: Declared, pad: Pad, names: tuple[str, ...]) -> str | None:
    """Returns why the value at `names` breaks its declared type, by path and rule; empty: it fits; None: no type is
    declared there. What it still lacks is not asked for.
    """
    found = place(declared.source, names)
    above = names[: found.judged_from]
    if above == names and not any(layer.keys() & _TYPED for layer in layers(declared.schema, found.schema)):
        return None if found.schema is not False else f"{'.'.join(names)}: additionalProperties"
    try:
        compiled.judge(validator(declared.source, above, False), _at(pad, above), ".".join([declared.name, *above]))
    except BreaksSchema as broken:
        return broken.detail
    return ""


def _named(broken: BreaksSchema) -> BreaksSchema:
    wanted = broken.detail.removeprefix(f"{broken.path}: {broken.rule}").removeprefix(": ")
    if broken.rule == "required":
        return MissingValue(broken.path, broken.rule, wanted)
    return (WrongType if broken.rule in _OF_TYPE else OutOfRange)(broken.path, broken.rule, wanted)


def missing(declared: Declared | None, pad: Pad) -> list[Problem]:
    """What the form still lacks, in the schema's order: required values that are not there, at most MAX_MISSING."""
    if declared is None:
        return []
    told = compiled.told(validator(declared.source, (), True), pad, "state")
    return list(islice((problem for problem in told if problem.rule == "required"), MAX_MISSING))


def private_paths(declared: Declared) -> tuple[str, ...]:
    """The private places as paths, for readers that know no schema. A path leads through every item of an array; what
    is private under keys that are not named hides the whole object.
    """
    found: list[str] = []
    waiting: list[tuple[tuple[str, ...], Any, frozenset[str]]] = [((), declared.schema, frozenset())]
    while waiting:
        names, node, entered = waiting.pop()
        words = layers(declared.schema, node)
        met = {layer["$ref"] for layer in words if "$ref" in layer}
        if any(layer.get("x-private") is True for layer in words):
            found.append(".".join(["state", *names]))
        elif not met & entered:
            waiting += [(to, inner, entered | met) for layer in words for to, inner in _inside(names, layer)]
    return tuple(sorted(set(found)))


def _inside(names: tuple[str, ...], layer: dict[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    """The parts of one layer: an item, or what stands under any other key, is found where its array or object is."""
    rest = [layer[word] for word in ("items", "additionalProperties") if word in layer]
    rest += [*layer.get("patternProperties", {}).values(), *layer.get("prefixItems", ())]
    named = [((*names, name), part) for name, part in layer.get("properties", {}).items()]
    return [*named, *((names, part) for part in rest)]


def without_private(declared: Declared | None, pad: Pad, instead: str | None = None) -> Pad:
    """The state without its private values, or with `instead` in their place. Values outside of the schema stay."""
    if declared is None:
        return pad
    kept = _open(declared.schema, declared.schema, pad, instead)
    return kept if isinstance(kept, dict) else {}


def without_private_at(declared: Declared, names: Iterable[str], value: Any, instead: str) -> Any:
    """Returns the value at the path of these names with `instead` for what is private in it; for all of it where the
    path leads into a private place.
    """
    found = place(declared.source, tuple(names))
    return instead if found.private else _open(declared.schema, found.schema, value, instead)


def _open(root: Any, node: Any, value: Any, instead: str | None) -> Any:
    """`value` without what is private in it; _ABSENT when it is private itself and nothing stands instead."""
    if any(layer.get("x-private") is True for layer in layers(root, node)):
        return _ABSENT if instead is None else instead
    if isinstance(value, dict):
        kept = {name: _open(root, below(root, node, name), item, instead) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item is not _ABSENT}
    if isinstance(value, list):
        opened = [_open(root, below(root, node, str(index)), item, instead) for index, item in enumerate(value)]
        return [item for item in opened if item is not _ABSENT]
    return value


def _at(pad: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        if isinstance(pad, dict) and name in pad:
            pad = pad[name]
        elif isinstance(pad, list) and name.isdecimal() and int(name) < len(pad):
            pad = pad[int(name)]
        else:
            return _ABSENT
    return pad
