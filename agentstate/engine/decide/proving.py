"""Which value a place of the state has, put on record so that it can be shown to others with a proof."""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.decide.commands.scratchpad import Prove
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.schema import in_force
from agentstate.engine.handlers import command_handler
from agentstate.engine.schemas.private import without_private
from agentstate.engine.scratchpad import Pad
from agentstate.engine.state.session import SessionState
from agentstate.errors import Refused

MAX_VALUE = 32_000  # bytes as JSON
MAX_PATH = 400  # characters
_json = msgspec.json.Encoder(decimal_format="number")
_ABSENT = object()


class NoSuchValue(Refused):
    """The state has no value at this path."""

    code = "no_such_value"
    status = 404


class PrivateValue(Refused):
    """The value, or a part of it, is private: it is proven to nobody."""

    code = "private_value"
    status = 403


class ValueTooLarge(Refused):
    """The value is too large for a proof."""

    code = "value_too_large"
    remedy = "Prove a part of it."


@command_handler(Prove)
def proved(command: Prove, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The value as the state has it. Raises BadPath, NoSuchValue, PrivateValue, ValueTooLarge, SessionOver."""
    must_live(state)
    now = command.past is None
    value = provable(state, state.pad if command.past is None else command.past, command.path, context)
    return [ev.ValueProved(command.path, value, state.seq if now else command.of, command.written)]


def provable(state: SessionState, pad: Pad, path: str, context: CommandContext) -> Any:
    """The value at `path` of a scratchpad of this session. What is private now is so in older states too."""
    names = scratchpad.parts(path[:MAX_PATH])
    value = _at(pad, names)
    if value is _ABSENT:
        raise NoSuchValue(path[:MAX_PATH])
    if _at(without_private(in_force(state, context), pad), names) != value:
        raise PrivateValue(path[:MAX_PATH])
    if len(_json.encode(value)) > MAX_VALUE:
        raise ValueTooLarge(f"it has {len(_json.encode(value))} bytes, at most {MAX_VALUE}")
    return value


def _at(pad: Any, names: list[str]) -> Any:
    for name in names:
        if not isinstance(pad, dict) or name not in pad:
            return _ABSENT
        pad = pad[name]
    return pad
