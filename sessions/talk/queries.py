"""What a conversation is about: its topics and turns, the entities it speaks of, and what phrases mean.

Needs `read`, as every query of words does.
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.engine.state.session import SessionState
from agentstate.engine.understanding.held import Reference, Talk, Turn
from sessions.core.entry_lines import state_of
from sessions.core.session_lines import Person
from sessions.http.bodies import About


class TopicLine(msgspec.Struct, frozen=True):
    """A topic, and the turns that are still held and were about it."""

    name: str
    label: str
    status: str
    current: bool
    resumed: int
    turns: tuple[Turn, ...]


class EntityLine(msgspec.Struct, frozen=True):
    """An entity; `mentioned` is the number of the turn that spoke of it last, 0 if none did."""

    id: str
    type: str
    label: str
    attributes: dict[str, Any]
    mentioned: Annotated[int, About("number of the turn that spoke of it last, or 0")]


class ReferenceLine(msgspec.Struct, frozen=True):
    """A phrase of the customer's newest message, what it means, and who said so: `model`, or an actor."""

    mention: str
    entities: tuple[str, ...]
    labels: tuple[str, ...]
    by: str


class TalkLines(msgspec.Struct, frozen=True):
    """All of it, the entities spoken of last first."""

    topic: str
    topics: tuple[TopicLine, ...]
    entities: tuple[EntityLine, ...]
    open_questions: tuple[str, ...]
    references: tuple[ReferenceLine, ...]
    heard_seq: int


def talk_of(user: Person, session: UUID) -> TalkLines:
    """What the conversation is about now. Raises UnknownSession, PermissionDenied."""
    return talk_lines(state_of(user, session, "talk"))


def talk_lines(state: SessionState) -> TalkLines:
    """The same of a state that was read already."""
    talk = state.talk
    return TalkLines(
        topic=talk.topic,
        topics=topic_lines(talk),
        entities=entity_lines(talk),
        open_questions=tuple(question for turn in talk.turns for question in turn.asks),
        references=reference_lines(talk),
        heard_seq=talk.heard_seq,
    )


def reference_lines(talk: Talk) -> tuple[ReferenceLine, ...]:
    """The references of the customer's newest message, in the order in which they were said."""
    labels = {entity.id: entity.label for entity in talk.entities}

    def line(found: Reference) -> ReferenceLine:
        meant = tuple(labels.get(each) or each for each in found.entities)
        return ReferenceLine(found.mention, found.entities, meant, found.by)

    return tuple(map(line, talk.heard))


def topic_lines(talk: Talk) -> tuple[TopicLine, ...]:
    """The topics, in the order in which they were opened."""
    turns = {turn.number: turn for turn in talk.turns}
    return tuple(
        TopicLine(
            name=topic.name,
            label=topic.label,
            status=topic.status,
            current=topic.name == talk.topic,
            resumed=topic.again,
            turns=tuple(turns[number] for number in topic.turns if number in turns),
        )
        for topic in talk.topics
    )


def entity_lines(talk: Talk) -> tuple[EntityLine, ...]:
    """The entities, those spoken of last first."""
    last = {mention.entity: mention.turn for mention in talk.mentions}
    lines = (EntityLine(e.id, e.type, e.label, e.attributes, last.get(e.id, 0)) for e in talk.entities)
    return tuple(sorted(lines, key=lambda line: -line.mentioned))
