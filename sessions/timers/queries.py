"""What a session is to do by itself, and when."""

from __future__ import annotations

from typing import Annotated, get_args
from uuid import UUID

import msgspec

from agentstate.engine.timers import TimerKind
from agentstate.people.permissions import can
from agentstate.people.roles import Permission
from sessions.core import states
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person
from sessions.http.bodies import About, Words

TIMER_KIND = list(get_args(TimerKind))


class TimerLine(msgspec.Struct, frozen=True):
    """One timer that has not fired."""

    id: str
    what: Annotated[str, Words(TIMER_KIND)]
    due: str
    by: str
    text: str
    seq: Annotated[int, About("the entry that set it")]


class TimerLines(msgspec.Struct, frozen=True):
    """The timers of a session, the first due first."""

    seq: int
    timers: list[TimerLine]
    may_change: bool


def timers_of(user: Person, session: UUID) -> TimerLines:
    """Raises UnknownSession, PermissionDenied."""
    team = must_read(user, session)
    state = states.load(session).state
    held = sorted(state.timers.values(), key=lambda timer: (timer.due, timer.seq))
    lines = [TimerLine(each.id, each.what, each.due, each.by, each.text, each.seq) for each in held]
    return TimerLines(state.seq, lines, can(user, Permission.CHANGE_STATE, team) and not state.ended)
