"""Withdrawing a call before it begins."""

from __future__ import annotations

from uuid import UUID

from agentstate.engine import decide as core
from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, must_may


def withdraw(
    user: Person, session: UUID, reason: str, *, call: str = "", request: str = "", key: str = ""
) -> Committed:
    """Withdraws a call before it begins: a call that waits for a person, or an allowed one. Needs the permission to
    propose calls in the session, or to decide them. Raises UnknownSession, PermissionDenied, NotFound,
    NotOpenToWithdrawal, Invalid.
    """
    if bool(call) == bool(request):
        raise Invalid("want a call, or a request", field="call")
    _must_withdraw(user, session)
    author = author_of(user, key)
    command = core.Withdraw(author.actor, reason, call, request)
    return person_command(session, command, author, recheck=lambda: _must_withdraw(user, session))


def _must_withdraw(user: Person, session: UUID) -> None:
    try:
        must_may(user, session, Permission.CHANGE_STATE)
    except PermissionDenied:
        must_may(user, session, Permission.DECIDE)
