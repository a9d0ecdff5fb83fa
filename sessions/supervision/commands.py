"""People of the house in a session: they take it over, speak, whisper, hand it back, pass it on, see to it; the
customer asks for one of them.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.engine import decide as core
from agentstate.people.permissions import can, require
from agentstate.people.roles import Permission
from sessions.approvals.assignment import colleague_of
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, bounded, must_may, team_of
from sessions.supervision import handback as proposals


def take_over(user: Person, session: UUID, reason: str = "", *, holder: str = "", key: str = "") -> Committed:
    """They speak to the customer from here on, the agent is silent. `holder` names the colleague from whom they take
    it, by actor. Raises PermissionDenied, Invalid, SessionOver, TakenByAnother.
    """
    bounded("reason", reason)
    must_may(user, session, Permission.TAKE_OVER)
    author = author_of(user, key)
    command = core.TakeOver(author.actor, reason, holder)
    return person_command(session, command, author, recheck=lambda: must_may(user, session, Permission.TAKE_OVER))


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
