"""`Understood`: what one message tells of its turn and topic, as its event records it. `Talk`: what a session's state
keeps of turns, topics, entities and references. Everything in both is capped.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agentstate.engine.understanding.entities import Entity
from agentstate.engine.understanding.ontology import Ontology

KEPT_ENTITIES = 40  # the least lately mentioned fall out; a model that may refer to them is shown them all
KEPT_MENTIONS = 48
KEPT_TURNS = 24
KEPT_TOPICS = 12  # closed ones fall out first, then those left longest ago
KEPT_TURNS_OF_TOPIC = 40  # turns that a topic still names
MAX_REFERENCES = 8  # of one message
LONGEST_QUESTION = 200  # characters kept of an open question


class Mention(msgspec.Struct, frozen=True):
    """A reference in message number `message`, in turn `turn`, means `entity`."""

    entity: str
    message: int
    turn: int


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


class Reference(msgspec.Struct, frozen=True):
    """`mention`, as it stands in a message, means `entities` (none: nothing that is known). `by` is the model or the
    person who said so. It holds ids of entities, and no label or value of one.
    """

    mention: str
    entities: tuple[str, ...]
    by: str


class Understood(msgspec.Struct, frozen=True):
    """What one message tells of its turn and topic. `evolve` copies it.

    `topic` is the current topic after the message; empty: as before it.
    """

    questions: tuple[str, ...] = ()
    topic: str = ""


class Talk(msgspec.Struct, frozen=True):
    """Turns, topics, entities, and what phrases of the customer's newest message mean.

    `answered`: the model or a person has said what that message refers to. `shown` are the ids of the entities that
    were known when the model was asked last, in the order in which a request names them; it named the first `named` of
    those that it may see.
    """

    ontology: Ontology = Ontology()
    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()  # newest last
    turns: tuple[Turn, ...] = ()
    turn: int = 0  # number of the newest turn; the first is 1
    messages: int = 0  # so far, notes included
    topics: tuple[Topic, ...] = ()
    topic: str = ""  # the name of the current one
    heard: tuple[Reference, ...] = ()  # references of the customer's newest message
    heard_seq: int = -1
    answered: bool = False
    shown: tuple[str, ...] = ()
    named: int = 0
