"""Setting the topic of a conversation and putting references right: guidance that the customer does not see
(`whisper`).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from agentstate.engine import decide as core
from agentstate.engine.decide.commands.conversation import TopicChange
from agentstate.people.roles import Permission
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, must_may


def set_topic(
    user: Person, session: UUID, topic: str, change: TopicChange, *, label: str = "", key: str = ""
) -> Committed:
    """Open, switch to, resume or close a topic. Raises UnknownTopic, TopicKnown, Invalid, SessionOver."""
    must_may(user, session, Permission.WHISPER)
    author = author_of(user, key)
    return person_command(session, core.SetTopic(topic, change, author.actor, label), author)


def correct_reference(
    user: Person, session: UUID, seq: int, mention: str, entities: Sequence[str], *, key: str = ""
) -> Committed:
    """Say what `mention` in the message of entry `seq` means. Raises UnknownMention, UnknownEntity, Invalid."""
    must_may(user, session, Permission.WHISPER)
    author = author_of(user, key)
    return person_command(session, core.CorrectReference(seq, mention, tuple(entities), author.actor), author)
