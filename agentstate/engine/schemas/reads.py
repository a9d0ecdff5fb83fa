"""What is enforced on the way out: a value is there, of its type and in its range, before anything acts on it."""

from __future__ import annotations

from itertools import islice
from typing import Any

from agentstate.engine import scratchpad
from agentstate.engine.schemas import bounds, compiled
from agentstate.engine.schemas.compiled import Problem
from agentstate.engine.schemas.declared import Declared
from agentstate.engine.schemas.descent import layers, place, validator
from agentstate.engine.schemas.keywords import Schema
from agentstate.engine.schemas.refusals import BreaksSchema, MissingValue, OutOfRange, WrongType
from agentstate.engine.scratchpad import Pad

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


def _at(pad: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        if isinstance(pad, dict) and name in pad:
            pad = pad[name]
        elif isinstance(pad, list) and name.isdecimal() and int(name) < len(pad):
            pad = pad[int(name)]
        else:
            return _ABSENT
    return pad
