"""Stateless and in memory: nothing is kept beyond the call, or beyond this process."""

from __future__ import annotations

from collections.abc import Sequence

from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from benchmarks.patterns.stores.base import Happened, Moved


class Stateless:
    """Every call stands alone: the caller carries the whole state along. Simple, and it grows with every call.

    Two calls that carry the same state both succeed: nobody is there to notice.
    """

    def load(self, session: str, carried: bytes = b"") -> SessionState:
        """The state in `carried`. Raises msgspec.ValidationError on what is none."""
        return from_snapshot(carried) if carried else SessionState()

    def save(self, session: str, before: SessionState, happened: Sequence[Happened], after: SessionState) -> bytes:
        """The state as bytes, for the caller to keep."""
        return to_snapshot(after)


class InMemory:
    """The states of this process: the fastest, gone with the process, and no other process sees them."""

    def __init__(self) -> None:
        self._states: dict[str, SessionState] = {}

    def load(self, session: str, carried: bytes = b"") -> SessionState:
        """The state kept here."""
        return self._states.get(session, SessionState())

    def save(self, session: str, before: SessionState, happened: Sequence[Happened], after: SessionState) -> bytes:
        """Keep `after`. Raises Moved."""
        if self.load(session).seq != before.seq:
            raise Moved(f"at event {self.load(session).seq}, got one decided at {before.seq}")
        self._states[session] = after
        return b""
