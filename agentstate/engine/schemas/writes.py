"""What is enforced on the way in: a write has a place in the schema, a writer who may, and a value that fits."""

from __future__ import annotations

from typing import Any

from agentstate.engine import scratchpad
from agentstate.engine.schemas import bounds, compiled
from agentstate.engine.schemas.declared import SYSTEM, Actor, Declared
from agentstate.engine.schemas.descent import below, layers, place, validator
from agentstate.engine.schemas.refusals import BreaksSchema, NotAWriter
from agentstate.engine.scratchpad import Pad

__all__ = ["SYSTEM", "Actor", "check_removal", "check_state", "check_write", "check_writer"]


def check_write(
    declared: Declared | None, actor: Actor, path: str, value: Any, pad: Pad, *, whole: bool = True
) -> None:
    """Whether `actor` may write `value` at `path` into `pad`. Only what is written is judged, as it will stand there.

    `whole`: the value is a finished one, as a tool's result is; otherwise what it still lacks may follow, as in a form
    that is being filled in. Without a declared schema anything may be written, within bounds. Raises BadPath,
    NotAWriter, BreaksSchema.
    """
    names = tuple(scratchpad.parts(path))
    bounds.check(value, path)
    if declared is None:
        return
    check_writer(declared, actor, path, value)
    found = place(declared.source, names)
    if found.holds_writers:
        _check_replaced(declared.schema, found.schema, actor, path, value, _at(pad, names))
    if found.schema is False:
        raise BreaksSchema(path, "additionalProperties", "it has no place in the state")
    if found.in_array:
        raise BreaksSchema(path, "type", "an array is written as a whole")
    above = names[: found.judged_from]
    judged = validator(declared.source, above, whole)
    becomes = scratchpad.merge(_at(pad, names), value)
    for name in reversed(names[found.judged_from :]):  # what is judged from above is judged as it will stand there
        becomes = {name: becomes}
    if len(above) < len(names):
        becomes = scratchpad.merge(_at(pad, above), becomes)
    compiled.judge(judged, becomes, ".".join(["state", *above]))


def check_writer(declared: Declared, actor: Actor, path: str, value: Any) -> None:
    """Whether `actor` may write at `path` and at each place within `value` that has writers of its own.

    Raises NotAWriter.
    """
    found = place(declared.source, tuple(scratchpad.parts(path)))
    _must_write(actor, found.writers, path)
    if found.holds_writers:
        _check_within(declared.schema, found.schema, actor, path, value)


def check_removal(declared: Declared | None, actor: Actor, path: str, pad: Pad) -> None:
    """Whether `actor` may remove what stands at `path`. Raises BadPath, NotAWriter."""
    names = tuple(scratchpad.parts(path))
    if declared is not None:
        check_writer(declared, actor, path, _at(pad, names))


def check_state(declared: Declared | None, pad: Pad, *, whole: bool = False) -> None:
    """Whether a whole state fits its schema, half filled in unless `whole`. Raises BreaksSchema."""
    bounds.check(pad, "state")
    if declared is not None:
        compiled.judge(validator(declared.source, (), whole), pad, "state")


def _check_within(root: Any, node: Any, actor: Actor, path: str, value: Any) -> None:
    inner = list(value.items()) if isinstance(value, dict) else []
    inner += [(str(index), item) for index, item in enumerate(value)] if isinstance(value, list) else []
    for name, item in inner:
        part = below(root, node, name)
        for layer in layers(root, part):
            if "x-writers" in layer:
                _must_write(actor, tuple(layer["x-writers"]), f"{path}.{name}")
                break
        _check_within(root, part, actor, f"{path}.{name}", item)


def _check_replaced(root: Any, node: Any, actor: Actor, path: str, value: Any, before: Any) -> None:
    """Whether `actor` may write what the write takes away: objects merge by key, anything else replaces."""
    if not isinstance(before, dict):
        return
    if not isinstance(value, dict):
        _check_within(root, node, actor, path, before)
        return
    for name in value.keys() & before.keys():
        _check_replaced(root, below(root, node, name), actor, f"{path}.{name}", value[name], before[name])


def _must_write(actor: Actor, writers: tuple[str, ...] | None, path: str) -> None:
    if not actor.among(writers or ()):
        raise NotAWriter(path, str(actor), writers or ())


def _at(pad: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        if not isinstance(pad, dict) or name not in pad:
            return None
        pad = pad[name]
    return pad
