"""The commands of talk: an agent or a person sets the topic, or says what a reference means."""

from __future__ import annotations

from typing import Literal

from agentstate.engine.decide.commands.base import Command

TopicChange = Literal["open", "switch", "resume", "close"]


class SetTopic(Command, frozen=True):
    """Open a topic, say that the newest turn is about another one (`switch`), take one up again, or close it."""

    topic: str
    change: TopicChange
    by: str
    label: str = ""


class CorrectReference(Command, frozen=True):
    """In the message of entry `seq`, `mention` means `entities` (none: nothing that is known)."""

    seq: int
    mention: str
    entities: tuple[str, ...]
    by: str
