"""Assigning a request or a session to a colleague or a team."""

from __future__ import annotations

from uuid import UUID

from agentstate.engine import decide as core
from agentstate.errors import Invalid
from agentstate.people.models import Team, User
from agentstate.people.permissions import PermissionDenied, can, require
from agentstate.people.roles import Permission, roles_with
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, bounded, team_of
from sessions.models.sessions import ApprovalRequest

TEAM = "team:"  # in the place of a person: whoever of this team


def assign(
    user: Person,
    session: UUID,
    to: str,
    *,
    request: UUID | None = None,
    why: tuple[str, ...] = (),
    holder: str = "",
    key: str = "",
) -> Committed:
    """A colleague, by name, or a team, as `team:<slug>`, is to see to a request or to the session; `to` empty: back to
    the queue. `holder` is who was to do it when they looked, by actor. Raises PermissionDenied, Invalid, SessionOver,
    UnknownRequest, HasChanged.
    """
    for reason in why:
        bounded("why", reason)
    team = team_of(user, session)
    if request is not None and not ApprovalRequest.objects.filter(pk=request, session=session).exists():
        raise core.UnknownRequest()
    needed = Permission.TAKE_OVER if request is None else Permission.DECIDE
    require(user, needed, team)
    colleague = _whom(to, team, needed) if to else ""
    author = author_of(user, key)
    command = core.Assign(str(request or ""), colleague, author.actor, why, holder)
    return person_command(session, command, author)


def _whom(to: str, team: UUID, needed: Permission) -> str:
    """Who is to do something in `team`: a colleague, or a team of whom somebody may. Raises Invalid,
    PermissionDenied.
    """
    if not to.startswith(TEAM):
        return colleague_of(to, team, needed)
    slug = to.removeprefix(TEAM)
    if not Team.objects.filter(slug=slug).exists():
        raise Invalid(f"there is no team {slug[:60]!r}", field="to")
    may = User.objects.filter(is_active=True, memberships__team=team, memberships__role__in=roles_with(needed))
    if not may.filter(memberships__team__slug=slug).exists():
        raise PermissionDenied(f"Nobody there has the permission {needed.value}.", permission=needed.value, field="to")
    return to


def colleague_of(name: str, team: UUID, needed: Permission) -> str:
    """Somebody, by the name they sign in with or by actor, who may do what is to be done there. Raises Invalid,
    PermissionDenied.
    """
    found = colleague_named(name)
    if not can(found, needed, team):
        raise PermissionDenied(f"They need the permission {needed.value}.", permission=needed.value, field="to")
    return found.actor


def colleague_named(name: str) -> User:
    """Somebody, by the name they sign in with or by actor. Raises Invalid."""
    found = User.objects.filter(username=User.normalize_username(name)).first() or _by_actor(name)
    if found is None:
        raise Invalid(f"there is no colleague {name[:60]!r}", field="to")
    return found


def _by_actor(actor: str) -> User | None:
    try:
        return User.objects.filter(pk=UUID(actor.removeprefix("user:"))).first()
    except ValueError:
        return None
