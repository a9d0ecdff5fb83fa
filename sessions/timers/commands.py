"""Timers of a session: set and cancelled by people, or set by the agent through its tool."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import get_args
from uuid import UUID

from agentstate.engine.decide import CancelTimer, SetTimer
from agentstate.engine.instants import stamp
from agentstate.engine.timers import TimerKind
from agentstate.errors import Invalid
from agentstate.people.roles import Permission
from audit.server_clock import now as database_now
from sessions.core.commit import person_command
from sessions.core.committed import Author, Committed
from sessions.core.person import Person, author_of, must_may

KINDS: tuple[TimerKind, ...] = get_args(TimerKind)
LONGEST = 366 * 24 * 3600  # seconds


def set_timer(
    user: Person,
    session: UUID,
    what: TimerKind,
    *,
    text: str = "",
    after: int | None = None,
    at: datetime | None = None,
    key: str = "",
) -> Committed:
    """Let something happen `after` seconds or `at` an instant. Raises UnknownSession, PermissionDenied, Invalid,
    SessionOver, TooManyTimers, ForkHasNoTimers.
    """
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    return timed(session, what, author, author.actor, text=text, after=after, at=at)


def timed(
    session: UUID,
    what: TimerKind,
    author: Author,
    by: str,
    *,
    text: str = "",
    after: int | None = None,
    at: datetime | None = None,
) -> Committed:
    """A timer of `author`, whose right to set one was checked. Raises as `set_timer`."""
    if what not in KINDS:
        raise Invalid(f"got {str(what)[:40]!r}, want one of {list(KINDS)}", field="what")
    due = _due(after, at)
    wanted = str(after) if after is not None else stamp(due)
    return person_command(session, SetTimer(what, stamp(due), by, text, wanted), author)


def _due(after: int | None, at: datetime | None) -> datetime:
    if (after is None) == (at is None):
        raise Invalid("say after how many seconds, or at which instant", field="after")
    if at is not None:
        if at.tzinfo is None:
            raise Invalid("want an instant with its time zone", field="at")
        return at
    assert after is not None
    if not 0 <= after <= LONGEST:
        raise Invalid(f"want 0 to {LONGEST} seconds", field="after")
    return database_now() + timedelta(seconds=after)


def cancel_timer(user: Person, session: UUID, timer: str, *, key: str = "") -> Committed:
    """It will not fire. Raises UnknownSession, PermissionDenied, UnknownTimer, SessionOver."""
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    return person_command(session, CancelTimer(timer, author.actor), author)
