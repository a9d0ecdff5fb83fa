"""A session's state as bytes and back, so that it need not be folded from its first event."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from agentstate.engine.state.session import SessionState

_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder = msgspec.json.Decoder(SessionState, float_hook=Decimal)


def to_snapshot(state: SessionState) -> bytes:
    """The state as bytes; `from_snapshot` is the inverse."""
    return _encoder.encode(state)


def from_snapshot(data: bytes) -> SessionState:
    """A state read back, validated. Raises msgspec.ValidationError."""
    return _decoder.decode(data)
