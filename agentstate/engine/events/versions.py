"""What happens to the versions of a session: a point gets a name, the session goes back, is forked, a fork takes over.

An event that brings back an older state carries it (`restored`, the snapshot): folding reads nothing but events, and
entries are encrypted under the customer's key like all else.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentstate.engine.charts.standing import Standing
from agentstate.engine.events.base import Arguments, Event
from agentstate.engine.remembered import Remembered
from agentstate.engine.understanding.held import Understood


class CheckpointNamed(Event, frozen=True, tag="checkpoint.named"):
    """The state after the first `seq` entries got a name. `digest` is of that state."""

    name: str
    seq: int
    digest: str
    by: str
    at: str = ""  # of the last entry of that state
    v: int = 1


class Lasting(msgspec.Struct, frozen=True):
    """An effect outside of the session that going back does not undo. `what` says it in the tool's words,
    `compensation` what can be done about it, as the tool declares.
    """

    seq: int  # of its intent
    call: str
    tool: str
    outcome: Literal["done", "failed", "unknown"]
    arguments: Arguments
    what: str = ""
    compensation: str = ""
    undo_tool: str = ""  # whose call with the arguments `undo` undoes it; empty: no call does
    undo: Arguments | None = None
    session: str = ""  # in whose log `seq` is, where another session did it for this one; empty: this one's


class SessionRolledBack(Event, frozen=True, tag="session.rolled_back"):
    """The session goes on from the state after its first `to` entries. What happened since stays in the log.

    `restored` is the snapshot of that state and `digest` its digest; `lasting` what is not undone, the newest, and
    `more` how many older effects there are; `note` what the agent is told.
    """

    to: int
    epoch: int
    by: str
    reason: str
    digest: str
    restored: dict[str, Any]
    lasting: tuple[Lasting, ...] = ()
    more: int = 0
    note: str = ""
    v: int = 1


class SessionForked(Event, frozen=True, tag="session.forked"):
    """This session begins as a copy of `parent` after its first `seq` entries; it may not speak or act."""

    parent: str
    seq: int
    digest: str
    restored: dict[str, Any]
    by: str
    reason: str = ""
    v: int = 1


class MessageDrafted(Event, frozen=True, tag="message.drafted"):
    """What the agent of a fork would have said. Nobody is sent it. `understood` as of a message."""

    text: str
    by: str = ""
    understood: Understood | msgspec.UnsetType = msgspec.UNSET
    v: int = 1


class Heard(msgspec.Struct, frozen=True):
    """Something that was said in the parent after the fork was made."""

    role: Literal["customer", "agent", "staff"]
    text: str
    by: str = ""


class ForkPromoted(Event, frozen=True, tag="fork.promoted"):
    """This fork goes on in its parent's place, and speaks. In the same transaction the parent was superseded.

    `size` is the parent's number of entries then; `heard` what was said there since, the newest; `lasting` what the
    parent did since; `note` what the agent is told; `remembered` what the parent remembers of people's answers and
    of the day's sums; `chart` where the parent's chart stands, where it forbids what the fork's would allow.
    """

    parent: str
    size: int
    by: str
    reason: str
    heard: tuple[Heard, ...] = ()
    lasting: tuple[Lasting, ...] = ()
    more: int = 0
    note: str = ""
    remembered: Remembered | None = None
    chart: Standing | None = None
    v: int = 1


class SessionSuperseded(Event, frozen=True, tag="session.superseded"):
    """A fork of this session goes on in its place; the session ends with it."""

    fork: str
    by: str
    reason: str
    v: int = 1
