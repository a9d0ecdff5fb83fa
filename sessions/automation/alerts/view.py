"""What rules look at: a session as of one moment, with the entries since the last look. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.instants import parse
from agentstate.engine.state.session import SessionState

COUNTED = ("call.refused", "decision.made", "tool.failed")  # kinds of which some rules look at several


class Told(msgspec.Struct, frozen=True):
    """An entry, opened."""

    seq: int
    at: str
    kind: str
    actor: str
    event: ev.AnyEvent

    @property
    def instant(self) -> datetime:
        """When."""
        return parse(self.at)


class Level(msgspec.Struct, frozen=True):
    """A clock of a service level that runs, or stands, in the session: which, since which entry, and when it is at risk
    and missed, if it goes on running.
    """

    id: str
    target: str
    about: str
    seq: int
    risk_at: datetime | None
    missed_at: datetime | None


class View(msgspec.Struct, frozen=True):
    """A session for rules. `fresh` are the entries since the last look, `counted` those of COUNTED kinds, the fresh
    ones included, as far back as is looked. `stalled` is the word of the runtime that leaves it alone.
    """

    session: str
    state: SessionState
    now: datetime
    fresh: tuple[Told, ...] = ()
    counted: tuple[Told, ...] = ()
    stalled: str = ""
    stalled_at: datetime | None = None
    levels: tuple[Level, ...] = ()

    @property
    def facts(self) -> Mapping[str, Any]:
        """What conditions read as `session`."""
        opened = self.state.opened
        if opened is None:
            return {}
        return {
            "id": self.session,
            "agent": opened.agent,
            "channel": opened.channel,
            "customer": opened.customer,
            "alias": opened.alias,
            "topic": opened.topic,
            "status": self.state.status.value,
        }
