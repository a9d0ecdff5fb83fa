"""Pinning, unpinning and rating what an agent remembers: guidance that the customer does not see (`whisper`)."""

from __future__ import annotations

from uuid import UUID

from agentstate.engine import decide as core
from agentstate.people.roles import Permission
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, must_may


def pin(user: Person, session: UUID, seq: int, *, why: str = "", key: str = "") -> Committed:
    """Keep the message of entry `seq` in its own words. Raises NotHeld, TooManyPins, BeingSummarised, Invalid."""
    must_may(user, session, Permission.WHISPER)
    author = author_of(user, key)
    return person_command(session, core.Pin(seq, author.actor, why), author)


def unpin(user: Person, session: UUID, seq: int, *, why: str = "", key: str = "") -> Committed:
    """Let it be summarised again when its time comes. Raises NotPinned, Invalid."""
    must_may(user, session, Permission.WHISPER)
    author = author_of(user, key)
    return person_command(session, core.Unpin(seq, author.actor, why), author)


def rate(user: Person, session: UUID, seq: int, rating: int, *, why: str = "", key: str = "") -> Committed:
    """Say how much use the message of entry `seq` is, from -2 to 2. Raises NotHeld, Invalid."""
    must_may(user, session, Permission.WHISPER)
    author = author_of(user, key)
    return person_command(session, core.Rate(seq, rating, author.actor, why), author)
