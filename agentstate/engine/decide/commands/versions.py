"""Commands about the versions of a session. What is folded from the log is handed in; the wish is what stands first."""

from __future__ import annotations

from typing import ClassVar

from agentstate.engine import events as ev
from agentstate.engine.charts.standing import Standing
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.remembered import Remembered
from agentstate.engine.state.session import SessionState
from agentstate.engine.versions.effects import Since


class Name(Command, frozen=True):
    """Give the state after `seq` entries a name (-1: the state as it is now). `older` is that state."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"older"})

    name: str
    by: str
    seq: int = -1
    older: SessionState | None = None


class Rollback(Command, frozen=True):
    """Go on from the state after `to` entries. `seen` is the digest of what its consequences were when shown."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"older", "since"})

    to: int
    by: str
    reason: str
    seen: str
    older: SessionState
    since: Since = Since()


class Fork(Command, frozen=True):
    """Open a session that begins as `parent` stood after `seq` entries, which is `older`."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"older"})

    parent: str
    seq: int
    by: str
    reason: str
    older: SessionState

    @property
    def agent(self) -> str:
        """The agent of the session that is opened."""
        return self.older.opened.agent if self.older.opened else ""


class Promote(Command, frozen=True):
    """The fork takes its parent's place, which had `size` entries. The parent is told by `Supersede`."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"size", "heard", "since", "remembered", "chart"})

    by: str
    reason: str
    size: int
    heard: tuple[ev.Heard, ...] = ()
    since: Since = Since()
    remembered: Remembered | None = None  # what the parent remembers
    chart: Standing | None = None  # where the parent's chart stands, if it has moved since the fork was made


class Supersede(Command, frozen=True):
    """A fork takes this session's place."""

    fork: str
    by: str
    reason: str
