"""Events of a session as a whole: opened, a message, its chart, paused, ended, sealed.

`chart.moved` records the chart's state afterwards, so folding runs no interpreter: a newer chart changes no history.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentstate.engine.charts.state import ChartState, Logged, Timer
from agentstate.engine.events.base import Event, Role
from agentstate.engine.understanding.held import Understood
from agentstate.engine.understanding.ontology import Ontology


class SessionOpened(Event, frozen=True, tag="session.opened"):
    """Somebody called, or a case was opened. `customer` is the data subject."""

    customer: str
    team: str
    agent: str
    channel: str
    topic: str = ""
    alias: str = ""
    schema: str = ""  # of the state, `bank@1`; empty: none was declared
    ontology: Ontology | None = None  # what the talk is about, as declared; None: nothing was
    idle: int = 0  # seconds without anything happening after which it expires; 0: never
    v: int = 1


class MessageAdded(Event, frozen=True, tag="message.added"):
    """Something was said. An agent's message is sent to the customer by being committed.

    `understood` is what the text tells of its turn and topic; unset: the session's agent declares nothing, or it is a
    note.
    """

    role: Role
    text: str
    by: str = ""
    queued: int = -1  # the entry since which it waited for a run to be over; -1: it did not
    understood: Understood | msgspec.UnsetType = msgspec.UNSET
    v: int = 1


class SessionEnded(Event, frozen=True, tag="session.ended"):
    """The conversation is over."""

    reason: str
    by: str
    v: int = 1


class SessionPaused(Event, frozen=True, tag="session.paused"):
    """A person stopped it for a while: nothing is begun until it is resumed. What runs may still return."""

    reason: str
    by: str
    with_parent: bool = False  # because the session whose call it does was paused: it is resumed with that one
    v: int = 1


class SessionResumed(Event, frozen=True, tag="session.resumed"):
    """It goes on where it was."""

    by: str
    v: int = 1


class SessionCancelled(Event, frozen=True, tag="session.cancelled"):
    """A person stopped it for good. What runs may still return, and is recorded."""

    reason: str
    by: str
    v: int = 1


class SessionExpired(Event, frozen=True, tag="session.expired"):
    """Nothing happened for `idle` seconds while the customer was awaited. The next message reopens the session."""

    idle: int
    v: int = 1


class SessionReopened(Event, frozen=True, tag="session.reopened"):
    """Somebody spoke in a session that had expired: it goes on, with all that it remembers."""

    by: str
    v: int = 1


class SessionFailed(Event, frozen=True, tag="session.failed"):
    """The agent cannot go on by itself, for a named reason; a new message of the customer lets it try again."""

    reason: str
    v: int = 1


class Span(msgspec.Struct, frozen=True):
    """Entries `first` to `last`, both meant."""

    first: int
    last: int


class PayloadPruned(Event, frozen=True, tag="payload.pruned"):
    """The term of retention class `retention` was over at `due`: the payloads of the entries in `ranges` are
    deleted next.
    """

    ranges: tuple[Span, ...]
    retention: str
    due: str
    v: int = 1


class SnapshotRecorded(Event, frozen=True, tag="snapshot.recorded"):
    """The state after the first `upto` entries is kept for good, in this `form`: `digest` is the SHA-256, in hex, of
    its sealed bytes. It stands for those entries once their payloads are deleted.
    """

    upto: int
    digest: str
    form: str
    v: int = 1


class SessionSealed(Event, frozen=True, tag="session.sealed"):
    """Nothing follows any more. Only a tombstone may (`subject.erased`, `payload.pruned`), and seals again."""

    why: Literal["asked", "erased", "pruned"]
    by: str
    v: int = 1


class Shift(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a move did, in order: states left and entered, transitions taken (`ask#2`: the second one of state ask),
    timers, values noted, errors of execution.
    """

    exited: tuple[str, ...] = ()
    entered: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    timers_set: tuple[Timer, ...] = ()
    timers_cancelled: tuple[str, ...] = ()
    logs: tuple[Logged, ...] = ()
    errors: tuple[str, ...] = ()


class ChartMoved(Event, frozen=True, tag="chart.moved"):
    """The chart was begun (no `event`), or it moved on an event. `after` is where it stands then, without its data;
    `changed` the data that has another value.

    `event` is what it was told: the name of a signal, of something that happened in the session, or `timer`. `by` says
    who signalled. `instructions` and `tools` are in force from here on (tools None: all of the agent's); `prompt`: the
    agent is to speak. `stopped` says why the chart does not run any more.
    """

    chart: str
    event: str
    shift: Shift
    after: ChartState
    changed: dict[str, Any] = {}
    instructions: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    prompt: bool = False
    by: str = ""
    data: Any = None  # what a signal carried
    stopped: str = ""
    v: int = 1
