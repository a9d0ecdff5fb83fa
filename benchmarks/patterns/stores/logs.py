"""Event sourced and tiered: what happened is kept, and the state is its fold."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from agentstate.engine import events as ev
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from benchmarks.patterns.stores.base import Cells, Happened, Log, Moved

SNAPSHOT_EVERY = 100  # events
HOT = 1_000  # states kept in the process


class DictLog:
    """A log in a dict, for notebooks and tests."""

    def __init__(self) -> None:
        self._records: dict[str, list[tuple[bytes, str]]] = {}

    def read(self, session: str, start: int) -> list[tuple[bytes, str]]:
        """The records from `start` on."""
        return self._records.get(session, [])[start:]

    def append(self, session: str, start: int, records: Sequence[tuple[bytes, str]]) -> bool:
        """Append, if the log ends at `start`."""
        kept = self._records.setdefault(session, [])
        if len(kept) != start:
            return False
        kept.extend(records)
        return True


class EventSourced:
    """The log and nothing else: every state that ever was can be had again. Each load folds from the first event."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def load(self, session: str, carried: bytes = b"") -> SessionState:
        """The fold of all events."""
        return self.at(session)

    def at(self, session: str, seq: int | None = None) -> SessionState:
        """The state as it was after the first `seq` events; after all of them without `seq`."""
        return _folded(self._log.read(session, 0)[:seq])

    def save(self, session: str, before: SessionState, happened: Sequence[Happened], after: SessionState) -> bytes:
        """Append what happened. Raises Moved."""
        _append(self._log, session, before, happened)
        return b""


class Tiered:
    """Hot states in the process, a warm snapshot now and then, the cold log beneath: as fast as memory while a session
    is in use, and the log's truth after it. A tier is a cache: a missing one costs time only.
    """

    def __init__(self, log: Log, snapshots: Cells, *, hot: int = HOT, every: int = SNAPSHOT_EVERY) -> None:
        self._log = log
        self._snapshots = snapshots
        self._every = every
        self._most = hot
        self._hot: OrderedDict[str, SessionState] = OrderedDict()

    def load(self, session: str, carried: bytes = b"") -> SessionState:
        """The hot state, or the snapshot and the events after it."""
        held = self._hot.get(session)
        return self._cold(session) if held is None else held

    def _cold(self, session: str) -> SessionState:
        _, data = self._snapshots.get(session)
        state = from_snapshot(data) if data else SessionState()
        state = _folded(self._log.read(session, state.seq), state)
        self._keep(session, state)
        return state

    def save(self, session: str, before: SessionState, happened: Sequence[Happened], after: SessionState) -> bytes:
        """Append what happened, and keep the state at hand. Raises Moved, and forgets what turned out to be old."""
        try:
            _append(self._log, session, before, happened)
        except Moved:
            self._hot.pop(session, None)
            raise
        self._keep(session, after)
        if after.seq // self._every > before.seq // self._every:
            seen, _ = self._snapshots.get(session)
            self._snapshots.put(session, seen, after.seq, to_snapshot(after))
        return b""

    def _keep(self, session: str, state: SessionState) -> None:
        self._hot[session] = state
        self._hot.move_to_end(session)
        while len(self._hot) > self._most:
            self._hot.popitem(last=False)


def _append(log: Log, session: str, before: SessionState, happened: Sequence[Happened]) -> None:
    if not log.append(session, before.seq, [(ev.encode(event), at) for event, at in happened]):
        raise Moved(f"no longer at event {before.seq}")


def _folded(records: Sequence[tuple[bytes, str]], state: SessionState | None = None) -> SessionState:
    return fold(((ev.decode(data), at) for data, at in records), state)
