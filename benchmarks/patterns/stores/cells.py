"""Persisted: one cell a session holds the newest state as bytes. How it came about is not kept."""

from __future__ import annotations

from collections.abc import Sequence

from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from benchmarks.patterns.stores.base import Cells, Happened, Moved


class DictCells:
    """Cells in a dict, for notebooks and tests."""

    def __init__(self) -> None:
        self._cells: dict[str, tuple[int, bytes]] = {}

    def get(self, name: str) -> tuple[int, bytes]:
        """Version and bytes."""
        return self._cells.get(name, (0, b""))

    def put(self, name: str, seen: int, version: int, data: bytes) -> bool:
        """Write, if the cell still is at `seen`."""
        if self.get(name)[0] != seen:
            return False
        self._cells[name] = version, data
        return True


class Persisted:
    """The newest state of each session in a cell: survives what its cells survive, and many processes may share it.

    Every call reads, decodes, encodes and writes the whole state.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    def load(self, session: str, carried: bytes = b"") -> SessionState:
        """The state in the session's cell. Raises msgspec.ValidationError on a cell that holds none."""
        _, data = self._cells.get(session)
        return from_snapshot(data) if data else SessionState()

    def save(self, session: str, before: SessionState, happened: Sequence[Happened], after: SessionState) -> bytes:
        """Write the whole state anew. Raises Moved."""
        if not self._cells.put(session, before.seq, after.seq, to_snapshot(after)):
            raise Moved(f"no longer at event {before.seq}")
        return b""
