"""What waits for somebody to step in: calls that the runtime cannot settle, sessions that failed or that it leaves
alone. One query for the page, its count and the API.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, get_args
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce, Now

from agentstate.engine import events as ev
from agentstate.engine.decide.interventions import is_blocked, ways
from agentstate.engine.state.session import Call
from sessions.core.entry_lines import state_of
from sessions.core.session_lines import PAGE, Person, SessionLine, lines_of, visible_sessions
from sessions.http.bodies import About, Words
from sessions.models.sessions import AgentSession

PATIENCE = timedelta(minutes=1)  # a call that waits longer for a place is told of
INTERVENTION = list(get_args(ev.Intervention))
STUCK_WHY = ("unknown", "failed", "waits")


class StuckCall(msgspec.Struct, frozen=True):
    """A call that a person may settle, and how."""

    call: str
    tool: str
    status: str
    tier: int
    why: Annotated[str, Words(STUCK_WHY, "unknown: nobody knows whether it happened")]
    attempt: int
    arguments: dict[str, Any]
    said: Annotated[str, About("what the agent was told of it")]
    ways: Annotated[tuple[Annotated[str, Words(INTERVENTION)], ...], About("what may be done")]
    is_blocked: Annotated[
        bool, About("whether nothing goes on with it until a person intervenes: what `/stuck` and alerts count")
    ]
    intent: Annotated[int, About("entry by which it began last; -1: never")]


def stuck_sessions(user: Person) -> QuerySet[AgentSession]:
    """The rows of what this person may see, those first that wait longest."""
    waits = Q(stalled__startswith="limit ") & Q(stalled_at__gt=Now() - PATIENCE)
    alone = ~Q(stalled="") & ~waits
    rows = visible_sessions(user).filter(Q(stuck__gt=0) | alone)
    return rows.order_by(Coalesce("stalled_at", "last_at"), "pk")


def stuck(user: Person, *, limit: int = PAGE) -> list[SessionLine]:
    """The lines of the page."""
    return lines_of(user, stuck_sessions(user)[:limit], "sessions")


def stuck_calls(user: Person, session: UUID) -> list[StuckCall]:
    """The calls of one session that are open to a person. Raises UnknownSession, PermissionDenied."""
    state = state_of(user, session)
    told = {item.call: item.text for item in state.items if item.role == "tool"}
    return [
        _line(call, told.get(call.id, ""), ways(state, call), is_blocked(state, call))
        for call in state.calls.values()
        if not call.kid and ways(state, call)
    ]


def _line(call: Call, said: str, how: tuple[str, ...], blocked: bool) -> StuckCall:
    return StuckCall(
        call=call.id,
        tool=call.tool,
        status=call.status.value,
        tier=call.tier,
        why=call.stuck or "waits",
        attempt=call.attempt,
        arguments=call.arguments,
        said=said,
        ways=how,
        is_blocked=blocked,
        intent=call.intent,
    )
