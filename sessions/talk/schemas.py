"""Shapes of what a conversation is about: topics, turns, entities, references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, get_args

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.decide.commands.conversation import TopicChange
from agentstate.engine.understanding.answer import MAX_MEANT, MAX_MENTION
from agentstate.engine.understanding.entities import MOST_TEXT
from agentstate.engine.understanding.topics import LONGEST_NAME
from sessions.http.bodies import About, Chars, Command, Items, Range, Words
from sessions.http.openapi import published
from sessions.talk import queries

TOPIC_CHANGE = list(get_args(TopicChange))
TOPIC_STATUS = ("open", "left", "closed")


class ChangeTopic(Command, kw_only=True):
    """Which topic, and what of it."""

    topic: Annotated[str, Chars(LONGEST_NAME, "its name")]
    change: Annotated[str, Words(TOPIC_CHANGE)]
    label: Annotated[str, Chars(LONGEST_NAME, "how people call it", blank=True)] | UnsetType = UNSET


class PutRight(Command, kw_only=True):
    """What a phrase of a message means."""

    seq: Annotated[int, Range(0, 2**53, "of the entry of the message")]
    mention: Annotated[str, Chars(MAX_MENTION, "the phrase, as it stands in the message")]
    entities: Annotated[list[Annotated[str, Chars(MOST_TEXT)]], Items(MAX_MEANT, "ids; empty: nothing that is known")]


class TurnOfTalk(Struct, frozen=True):
    number: int
    by: str
    first: Annotated[int, About("seq of its first message")]
    last: int
    at: str


class TopicOfTalk(Struct, frozen=True):
    name: str
    label: str
    status: Annotated[str, Words(TOPIC_STATUS)]
    current: bool
    resumed: Annotated[int, About("times it was taken up again")]
    turns: Sequence[TurnOfTalk]


class TopicList(Struct, frozen=True):
    topic: Annotated[str, About("the current one, or empty")]
    topics: Sequence[TopicOfTalk]
    open_questions: Annotated[Sequence[str], About("asked, and not answered yet")]


class Reference(Struct, frozen=True):
    mention: str
    entities: Annotated[Sequence[str], About("ids; empty: nothing that is known")]
    by: Annotated[str, About("who said so: `model`, or the person who corrected it")]


class EntityList(Struct, frozen=True):
    entities: Sequence[queries.EntityLine]
    heard_seq: Annotated[int, About("entry of the customer's newest message, or -1")]
    references: Sequence[Reference]


published(EntityOfTalk=queries.EntityLine)
