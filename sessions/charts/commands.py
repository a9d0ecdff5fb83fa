"""Telling a session's chart something from outside."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from agentstate.engine import decide as core
from agentstate.people.permissions import can, require
from agentstate.people.roles import Permission
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, bounded, team_of


def signal(user: Person, session: UUID, name: str, data: Any = None, *, key: str = "") -> Committed:
    """An event that the session's chart declares. Raises UnknownSignal, NotAwaited, BadEvent, SessionOver."""
    bounded("name", name, required=True)
    team = team_of(user, session)
    if not can(user, Permission.TAKE_OVER, team):
        require(user, Permission.SPEAK_AS_CUSTOMER, team)
    author = author_of(user, key)
    return person_command(session, core.Signal(name, author.actor, data), author)
