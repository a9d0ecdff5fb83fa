"""What every store does, and the one loop around it: load, decide, evolve, save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide import Command, CommandContext, decide
from agentstate.engine.instants import stamp
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState
from agentstate.errors import Refused

TRIES = 5  # how often a command is decided again on a state that others have moved


class Moved(Refused):
    """Somebody else has changed this session meanwhile."""

    code = "moved"
    remedy = "Load it again and decide again; `handle` does."


class Store(Protocol):
    """One pattern of keeping state. Both methods must agree: what `save` kept, `load` gives back."""

    def load(self, session: str, carried: bytes = b"") -> SessionState:
        """The state of `session`, empty when there is none. `carried` is what the caller brought along."""

    def save(self, session: str, before: SessionState, happened: Sequence[Happened], after: SessionState) -> bytes:
        """Keep that `happened` led from `before` to `after`; gives what the caller must bring next time.

        Raises Moved, having kept nothing, when the session does not stand at `before` any more.
        """


class Cells(Protocol):
    """Named bytes that change only from the version one has seen."""

    def get(self, name: str) -> tuple[int, bytes]:
        """Version and bytes; (0, b"") where there is nothing."""

    def put(self, name: str, seen: int, version: int, data: bytes) -> bool:
        """Write `data` as `version`, if the cell still is at `seen`; whether it was."""


class Log(Protocol):
    """Records in order, one sequence a session, appended only at the end one has seen."""

    def read(self, session: str, start: int) -> list[tuple[bytes, str]]:
        """The records from `start` on: an event's bytes and its instant."""

    def append(self, session: str, start: int, records: Sequence[tuple[bytes, str]]) -> bool:
        """Append `records` if the log ends at `start`; whether it did."""


Happened = tuple[ev.AnyEvent, str]  # an event and its instant, as in the envelope


class Handled(msgspec.Struct, frozen=True):
    """What a command led to. `carried` is for the caller to bring along with the next one."""

    state: SessionState
    events: tuple[ev.AnyEvent, ...]
    carried: bytes = b""


def handle(store: Store, session: str, command: Command, context: CommandContext, carried: bytes = b"") -> Handled:
    """Decide `command` on what `store` has of `session`, and keep what comes of it.

    Raises what `decide` refuses; Moved when others changed the session TRIES times in between.
    """
    for _ in range(TRIES - 1):
        try:
            return _once(store, session, command, context, carried)
        except Moved:
            continue
    return _once(store, session, command, context, carried)


def _once(store: Store, session: str, command: Command, context: CommandContext, carried: bytes) -> Handled:
    before = store.load(session, carried)
    at = stamp(context.at)
    after, happened = before, list[Happened]()
    for event in decide(command, before, context):
        after = evolve(after, event, at)
        happened.append((event, at))
    brought = store.save(session, before, happened, after)
    return Handled(after, tuple(event for event, _ in happened), brought)
