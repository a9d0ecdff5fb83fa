"""`Understood`: what was found in one message, as its event records it. `Talk`: what a session's state keeps of turns,
topics, entities and references. Everything in both is capped.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agentstate.engine.understanding.entities import Entity
from agentstate.engine.understanding.ontology import Ontology

KEPT_ENTITIES = 60  # the least lately mentioned fall out
KEPT_MENTIONS = 48
KEPT_GROUPS = 8  # lists that were said
KEPT_TURNS = 24
KEPT_TOPICS = 12  # closed ones fall out first, then those left longest ago
KEPT_TURNS_OF_TOPIC = 40  # turns that a topic still names
MOST_REFERENCES = 8  # answered in one message
LONGEST_QUESTION = 200  # characters kept of an open question

Found = Literal["entity", "ambiguous", "none"]


class Mention(msgspec.Struct, frozen=True):
    """`entity` was spoken of in message number `message`, in turn `turn`."""

    entity: str
    message: int
    turn: int


class Group(msgspec.Struct, frozen=True):
    """Entities of one type that `by` spoke of in one message, number `message`, in that order."""

    type: str
    entities: tuple[str, ...]
    message: int
    by: str


class Turn(msgspec.Struct, frozen=True):
    """One speaker's stretch of messages: `first` to `last` are seqs; `asks` its questions nobody has answered yet."""

    number: int
    by: str
    first: int
    last: int
    at: str
    messages: int = 1
    asks: tuple[str, ...] = ()
    topic: str = ""


class Topic(msgspec.Struct, frozen=True):
    """A topic of the conversation: `turns` are the numbers of the turns that were about it, the newest."""

    name: str
    label: str
    status: Literal["open", "left", "closed"]
    opened: int
    turns: tuple[int, ...] = ()
    again: int = 0  # times it was taken up again
    by: str = ""  # who set it by hand; empty: it was heard


class Resolution(msgspec.Struct, frozen=True):
    """What one referring phrase means; `why` names what told it.

    `entity`: `entities` is what is meant (several: only where a person said so). `ambiguous`: they are the candidates.
    `none`: it is not understood. It holds ids of entities, and no label or value of one.
    """

    mention: str
    start: int
    end: int
    found: Found
    entities: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    negated: bool = False


class Understood(msgspec.Struct, frozen=True):
    """What the resolver found in one message, beside what the session knew before it. `evolve` copies it.

    `mentioned` are the ids that each resolved reference means, in order; `references` those of a customer alone.
    `topic` is the current topic after the message; empty: as before it.
    """

    references: tuple[Resolution, ...] = ()
    mentioned: tuple[tuple[str, ...], ...] = ()
    questions: tuple[str, ...] = ()
    topic: str = ""


class Talk(msgspec.Struct, frozen=True):
    """Turns, topics, entities, and what the newest message of the customer refers to."""

    ontology: Ontology = Ontology()
    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()  # newest last
    groups: tuple[Group, ...] = ()  # newest last
    turns: tuple[Turn, ...] = ()
    turn: int = 0  # number of the newest turn; the first is 1
    messages: int = 0  # so far, notes included
    topics: tuple[Topic, ...] = ()
    topic: str = ""  # the name of the current one
    heard: tuple[Resolution, ...] = ()  # references of the customer's newest message
    heard_seq: int = -1
