"""What a conversation is about: its topics and turns, the entities it speaks of, and what a sentence would refer to.

Needs `read`, as every query of words does.
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.engine.state.session import SessionState
from agentstate.engine.talk.resolve import resolve
from agentstate.engine.understanding.held import Resolution, Talk, Turn
from agentstate.engine.understanding.notes import question
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


class HeardLine(msgspec.Struct, frozen=True):
    """A reference of the customer's newest message, with what it means in words."""

    mention: str
    found: str
    labels: tuple[str, ...]
    ask: str


class ReferenceLine(msgspec.Struct, frozen=True):
    """A reference as it was resolved, and the question that settles it, which names labels and values."""

    found: Resolution
    ask: str


class TalkLines(msgspec.Struct, frozen=True):
    """All of it, the entities spoken of last first."""

    topic: str
    topics: tuple[TopicLine, ...]
    entities: tuple[EntityLine, ...]
    open_questions: tuple[str, ...]
    heard: tuple[HeardLine, ...]
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
        heard=tuple(_heard(talk, found) for found in talk.heard),
        references=_lines(talk, talk.heard),
        heard_seq=talk.heard_seq,
    )


def _heard(talk: Talk, found: Resolution) -> HeardLine:
    labels = {entity.id: entity.label or entity.id for entity in talk.entities}
    meant = tuple(labels.get(entity, entity) for entity in found.entities)
    return HeardLine(found.mention, found.found, meant, question(talk.entities, found))


def _lines(talk: Talk, found: tuple[Resolution, ...]) -> tuple[ReferenceLine, ...]:
    return tuple(ReferenceLine(each, question(talk.entities, each)) for each in found)


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


def resolve_in(user: Person, session: UUID, text: str) -> tuple[ReferenceLine, ...]:
    """What `text` would refer to if the customer said it now. Nothing is recorded. Raises as `talk_of`."""
    talk = state_of(user, session, "talk").talk
    return _lines(talk, resolve(talk, text))
