"""Carrying a session's state to another version of its schema, and removing what nothing reads any more.

A session takes a new version by itself with its next step; these are for those who do not want to wait, or want it
back. All need `change_state`.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.engine.decide.commands.scratchpad import Migrate, Prune
from agentstate.people.roles import Permission
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, must_may


def migrate(user: Person, session: UUID, to: int, *, hold: bool = False, key: str = "") -> Committed:
    """Carry the state to version `to`; with `hold` it stays there when newer ones come. Raises CannotMigrate,
    SessionOver, UnknownSession, PermissionDenied.
    """
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    return person_command(session, Migrate(to, author.actor, hold), author)


def prune(user: Person, session: UUID, *, key: str = "") -> Committed:
    """Remove from the state what nothing reads any more. Raises SessionOver, UnknownSession, PermissionDenied."""
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    return person_command(session, Prune(author.actor), author)
