"""Undoing what a rollback left standing outside, by calls that are judged as any other."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from agentstate.engine import decide as core
from agentstate.people.roles import Permission
from sessions.core import history
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, must_may


def compensate(
    user: Person, session: UUID, rollback: int, calls: Sequence[str] = (), *, reason: str, key: str = ""
) -> Committed:
    """Order that the effects of `calls` (none: of all that can be) be undone, which the rollback in entry `rollback`
    had left standing. Raises UnknownSession, PermissionDenied, SessionOver, NotFound, NothingToUndo, TooMuchToUndo,
    Invalid.
    """
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    lasting = history.lasting_at(session, rollback)
    command = core.Compensate(rollback, tuple(calls), author.actor, reason, lasting)
    return person_command(session, command, author, recheck=lambda: must_may(user, session, Permission.CHANGE_STATE))
