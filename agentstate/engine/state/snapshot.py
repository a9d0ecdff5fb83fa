"""A session's state as bytes and back, so that it need not be folded from its first event.

A state of many instances is kept in parts, one an instance beside the rest, so that a snapshot writes only what has
changed since the one before.
"""

from __future__ import annotations

from decimal import Decimal

import msgspec
from msgspec.structs import replace

from agentstate.engine.state.rounds import Instance
from agentstate.engine.state.session import SessionState

_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder = msgspec.json.Decoder(SessionState, float_hook=Decimal)


def to_snapshot(state: SessionState) -> bytes:
    """The state as bytes; `from_snapshot` is the inverse."""
    return _encoder.encode(state)


def from_snapshot(data: bytes) -> SessionState:
    """A state read back, validated. Raises msgspec.ValidationError."""
    return _decoder.decode(data)


class Part(msgspec.Struct, frozen=True):
    """One instance of a state, by name."""

    name: str
    instance: Instance


_part_decoder = msgspec.json.Decoder(Part, float_hook=Decimal)


def to_parts(state: SessionState, since: int) -> tuple[bytes, dict[int, bytes], int]:
    """(the state without its instances, the instances changed by entry `since` or later by number, how many there are).
    `from_parts` is the inverse, given all of them.
    """
    every = list(state.plans.instances.items())
    changed = {
        number: _encoder.encode(Part(name, instance))
        for number, (name, instance) in enumerate(every)
        if instance.seq >= since
    }
    bare = replace(state, plans=replace(state.plans, instances={})) if every else state
    return _encoder.encode(bare), changed, len(every)


def from_parts(data: bytes, parts: dict[int, bytes]) -> SessionState:
    """A state read back from its parts. Raises msgspec.ValidationError."""
    state = _decoder.decode(data)
    found = [_part_decoder.decode(parts[number]) for number in sorted(parts)]
    if not found:
        return state
    instances = {part.name: part.instance for part in found}
    return replace(state, plans=replace(state.plans, instances=instances))
