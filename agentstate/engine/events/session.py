"""What happens to a session as a whole: it is opened, somebody speaks, it ends or the agent gives up."""

from __future__ import annotations

from typing import Literal

import msgspec

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

    `understood` is what the resolver found in the text; unset: the session's agent declares nothing, or it is a note.
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
