"""People of the house in a session: they take it over, speak, whisper, hand it back, pass it on, see to it; the
customer asks for one of them.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.engine import decide as core
from agentstate.errors import Invalid
from agentstate.people.models import Team, User
from agentstate.people.permissions import PermissionDenied, can, require
from agentstate.people.roles import Permission, roles_with
from sessions.commands.person import Person, author_of, bounded, must_may, team_of
from sessions.commit import Committed, person_command
from sessions.models import ApprovalRequest
from sessions.queries import supervision as proposals
from sessions.queries.work import TEAM


def take_over(user: Person, session: UUID, reason: str = "", *, holder: str = "", key: str = "") -> Committed:
    """They speak to the customer from here on, the agent is silent. `holder` names the colleague from whom they take
    it, by actor. Raises PermissionDenied, Invalid, SessionOver, TakenByAnother.
    """
    bounded("reason", reason)
    must_may(user, session, Permission.TAKE_OVER)
    author = author_of(user, key)
    command = core.TakeOver(author.actor, reason, holder)
    return person_command(session, command, author, still=lambda: must_may(user, session, Permission.TAKE_OVER))


def speak(user: Person, session: UUID, text: str, *, key: str = "") -> Committed:
    """They say something to the customer. Raises PermissionDenied, Invalid, SessionOver, NotTakenOver,
    TakenByAnother.
    """
    must_may(user, session, Permission.TAKE_OVER)
    author = author_of(user, key)
    return person_command(session, core.Speak(text, author.actor), author)


def barge_in(user: Person, session: UUID, text: str, *, key: str = "") -> Committed:
    """They say one thing to the customer; the agent keeps the session, goes on and knows of it. Raises
    PermissionDenied, Invalid, SessionOver, TakenByAnother.
    """
    must_may(user, session, Permission.BARGE_IN)
    author = author_of(user, key)
    return person_command(session, core.BargeIn(text, author.actor), author)


def whisper(user: Person, session: UUID, text: str, *, now: bool = False, key: str = "") -> Committed:
    """Guidance for the agent that the customer never sees; `now`: it is asked at once. Raises PermissionDenied,
    Invalid, SessionOver.
    """
    must_may(user, session, Permission.WHISPER)
    author = author_of(user, key)
    return person_command(session, core.Whisper(text, author.actor, now), author)


def hand_back(
    user: Person, session: UUID, summary: str | None = None, *, speaks: bool = True, key: str = ""
) -> Committed:
    """The agent has it again, with a summary: by default the one that is proposed of what was said and done. Raises
    PermissionDenied, Invalid, SessionOver, NotTakenOver, TakenByAnother, NotConsistent.
    """
    must_may(user, session, Permission.TAKE_OVER)
    author = author_of(user, key)
    told = proposals.proposed_summary(user, session) if summary is None else summary
    return person_command(session, core.HandBack(told, author.actor, speaks), author)


def ask_for_person(user: Person, session: UUID, why: str = "", *, key: str = "") -> Committed:
    """The customer asks for a person: it is in the queue until somebody takes the session over. Raises
    PermissionDenied, Invalid, SessionOver.
    """
    bounded("why", why)
    by = _on_the_customers_behalf(user, session)
    return person_command(session, core.AskForPerson("api", by, why), author_of(user, key))


def no_person_needed(user: Person, session: UUID, why: str, *, key: str = "") -> Committed:
    """The customer, or a colleague who has found out, says that no person is needed. Raises PermissionDenied, Invalid,
    SessionOver, NoPersonWanted.
    """
    bounded("why", why, required=True)
    by = _on_the_customers_behalf(user, session)
    return person_command(session, core.NoPersonNeeded(why, by), author_of(user, key))


def _on_the_customers_behalf(user: Person, session: UUID) -> str:
    team = team_of(user, session)
    if can(user, Permission.SPEAK_AS_CUSTOMER, team):
        return "customer"
    require(user, Permission.TAKE_OVER, team)
    return author_of(user).actor


def pass_on(user: Person, session: UUID, to: str, reason: str, *, holder: str = "", key: str = "") -> Committed:
    """What `holder` (by default they themselves) has taken over goes to a colleague, by name, or, `to` empty, to
    whoever takes it. Raises PermissionDenied, Invalid, SessionOver, NotTakenOver, HasChanged.
    """
    bounded("reason", reason, required=True)
    team = team_of(user, session)
    require(user, Permission.TAKE_OVER, team)
    author = author_of(user, key)
    colleague = colleague_of(to, team, Permission.TAKE_OVER) if to else ""
    return person_command(session, core.PassOn(colleague, holder or author.actor, reason, author.actor), author)


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
