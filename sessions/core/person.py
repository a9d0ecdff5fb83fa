"""Who commands, what they may do here, and the bounds of what they write: shared by all commands."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from agentstate.errors import Invalid
from agentstate.people.models import User
from agentstate.people.permissions import can, require
from agentstate.people.roles import Permission
from sessions.core import states
from sessions.core.committed import Author
from sessions.models.sessions import AgentSession

MAX_REFERENCE = 200  # characters of a customer's reference, a topic, an alias

Person = User | AnonymousUser


def bounded(name: str, text: str, *, required: bool = False) -> None:
    """Refuse a `text` that is too long, or empty where one is `required`. Raises Invalid naming the field."""
    if required and not text.strip():
        raise Invalid("must not be empty", field=name)
    if len(text) > MAX_REFERENCE:
        raise Invalid(f"got {len(text)} characters, at most {MAX_REFERENCE}", field=name)


def author_of(user: Person, key: str = "") -> Author:
    """`user` as the author of entries, under this idempotency key. Raises Invalid."""
    if len(key) > MAX_REFERENCE:
        raise Invalid(f"got {len(key)} characters, at most {MAX_REFERENCE}", field="idempotency_key")
    return Author(actor=user.actor if isinstance(user, User) else "anonymous", key=key)


def team_of(user: Person, session: UUID) -> UUID:
    """The session's team. Raises UnknownSession to those who may not even see that it exists."""
    team = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
    if team is None or not can(user, Permission.SEE, team):
        raise states.UnknownSession()
    return team


def must_may(user: Person, session: UUID, permission: Permission) -> None:
    """Raises UnknownSession, PermissionDenied."""
    require(user, permission, team_of(user, session))
