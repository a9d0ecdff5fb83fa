"""A person steps in: settles a call that the runtime cannot, or has a session tried again."""

from __future__ import annotations

from typing import Any, get_args
from uuid import UUID

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.errors import Invalid
from agentstate.people.roles import Permission
from sessions.core import announcements, states
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, bounded, must_may
from sessions.models.sessions import AgentSession

HOW = get_args(ev.Intervention)


def intervene(
    user: Person, session: UUID, call: str, how: str, reason: str, *, result: Any = None, key: str = ""
) -> Committed:
    """Settle a call: `retry`, `skip`, `supply` a result, or say of a doubted one that it `happened` or `not_happened`.
    Whoever decides calls of its tier may. Raises UnknownSession, PermissionDenied, NotFound, NotOpenToIntervention,
    PlanWentOn, Invalid.
    """
    if how not in HOW:
        raise Invalid(f"got {how[:40]!r}, want one of {', '.join(HOW)}", field="how")
    _must_decide(user, session, call)
    author = author_of(user, key)
    command = core.Intervene(call, how, author.actor, reason, result)  # type: ignore[arg-type]
    return person_command(session, command, author, recheck=lambda: _must_decide(user, session, call))


def _must_decide(user: Person, session: UUID, call: str) -> None:
    must_may(user, session, Permission.DECIDE)
    held = states.load(session).state.calls.get(call)
    if held is not None and held.tier >= 3:
        must_may(user, session, Permission.DECIDE_TIER3)


def retry_session(user: Person, session: UUID, reason: str, *, key: str = "") -> Committed:
    """Have a session tried again that failed, or that the runtime has parked. Raises UnknownSession, PermissionDenied,
    SessionOver, NothingToRetry, Invalid.
    """
    bounded("reason", reason, required=True)
    must_may(user, session, Permission.TAKE_OVER)
    author = author_of(user, key)
    stalled = AgentSession.objects.filter(pk=session).values_list("stalled", flat=True).get()
    parked = stalled if stalled and not stalled.startswith("limit ") else ""
    committed = person_command(session, core.RetrySession(author.actor, reason, parked), author)
    announcements.wake_worker()
    return committed
