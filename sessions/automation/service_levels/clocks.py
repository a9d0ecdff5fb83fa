"""The clocks of service levels: how the entries of a session start, stop and end them. Pure.

A clock runs while it is our turn and stands while it is the customer's. What it has used is open time by the target's
calendar, to the microsecond. Every clock remembers the last entry that moved
it, so that entries that are gone through twice move nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID, uuid5

import msgspec

from agentstate.engine import events as ev
from sessions.automation.alerts.view import Told
from sessions.automation.service_levels.definition import WHATS, Target, What
from sessions.text import calendars
from sessions.text.calendars import Calendar

CLOCKS = UUID("5a0be5f4-7a8c-5d52-9a93-0b6a6c1f2f60")  # namespace of their ids
KINDS = frozenset(
    (
        "message.added",
        "message.queued",
        "approval.requested",
        "request.held",
        "request.undone",
        "request.ended",
        "session.ended",
        "session.cancelled",
    )
)
VOID = ("withdrawn", "superseded")  # outcomes that are no decision
Outcome = Literal["running", "met", "missed", "void"]


class Measure(msgspec.Struct, frozen=True):
    """A target of the team as it is now, with its hours."""

    id: UUID
    name: str
    version: int
    since: datetime
    target: Target
    calendar: Calendar | None


class Clock(msgspec.Struct, frozen=True):
    """One measurement, as in `LevelClock`. `used` is open time before `since`."""

    id: UUID
    measure: Measure
    about: str
    seq: int
    upto: int
    started_at: datetime
    since: datetime | None
    used: timedelta = timedelta(0)
    ended_at: datetime | None = None
    outcome: Outcome = "running"

    @property
    def allowed(self) -> timedelta:
        """How much open time it may use."""
        return timedelta(seconds=self.measure.target.seconds)

    @property
    def risk_at(self) -> datetime | None:
        """When it is at risk if it runs on; None: it does not run."""
        return self._reaches(self.allowed * self.measure.target.risk / 100)

    @property
    def missed_at(self) -> datetime | None:
        """When it is missed if it runs on; None: it does not run."""
        return self._reaches(self.allowed)

    def _reaches(self, length: timedelta) -> datetime | None:
        if self.since is None or self.ended_at is not None:
            return None
        return calendars.after(self.measure.calendar, self.since, max(timedelta(0), length - self.used))

    def used_at(self, at: datetime) -> timedelta:
        """What it has used by then."""
        if self.since is None:
            return self.used
        return self.used + calendars.passed(self.measure.calendar, self.since, at)


class Session(msgspec.Struct, frozen=True):
    """What clocks need to know of a session beside its entries. `begun` are the targets of which it has a first clock
    already, `upto` is the last entry that moved one of its clocks.
    """

    id: UUID
    agent: str
    channel: str
    opened_at: datetime
    begun: frozenset[UUID] = frozenset()
    upto: int = -1


def moved(
    clocks: Sequence[Clock], entries: Iterable[Told], measures: Sequence[Measure], session: Session
) -> list[Clock]:
    """The clocks after `entries`, those that have ended and new ones included."""
    ours = [each for each in measures if _concerns(each.target, session)]
    ours.sort(key=lambda each: WHATS.index(each.target.what))  # a first response is no next one
    held = {clock.id: clock for clock in clocks}
    begun = set(session.begun) | {clock.measure.id for clock in clocks}
    done = max((session.upto, *(clock.upto for clock in clocks)))
    for told in (each for each in entries if each.seq > done):
        for clock in list(held.values()):
            if clock.ended_at is None:
                held[clock.id] = _moved(clock, told)
        for measure in ours:
            new = _started(measure, told, session, begun, list(held.values()))
            if new is not None and new.id not in held:
                held[new.id] = new
                begun.add(measure.id)
    return list(held.values())


def _concerns(target: Target, session: Session) -> bool:
    return (not target.agents or session.agent in target.agents) and (
        not target.channels or session.channel in target.channels
    )


def _speaker(told: Told) -> str:
    """Who speaks in an entry: customer, ours or nobody. What waited was said when it was queued."""
    match told.event:
        case ev.MessageAdded(role="customer", queued=-1) | ev.MessageQueued():
            return "customer"
        case ev.MessageAdded(role="agent" | "staff"):
            return "ours"
        case _:
            return ""


def _started(measure: Measure, told: Told, session: Session, begun: set[UUID], clocks: list[Clock]) -> Clock | None:
    """The clock that this entry starts, if it does."""
    what, about = measure.target.what, ""
    if told.instant < measure.since:
        return None
    match told.event:
        case ev.ApprovalRequested(request=about, tier=tier):
            if what != "decide" or (measure.target.tiers and tier not in measure.target.tiers):
                return None
        case ev.RequestUndone(request=about):
            known = any(clock.about == about and clock.measure.id == measure.id for clock in clocks)
            if what != "decide" or not known:
                return None
        case _:
            if what == "decide" or _speaker(told) != "customer" or not _opens(what, measure, session, begun, clocks):
                return None
    return Clock(
        uuid5(CLOCKS, f"{measure.id}/{session.id}/{about}/{told.seq}"),
        measure,
        about,
        told.seq,
        told.seq,
        told.instant,
        told.instant,
    )


def _opens(what: What, measure: Measure, session: Session, begun: set[UUID], clocks: list[Clock]) -> bool:
    """Whether the customer's words start a clock of this measure now."""
    if what == "next_response":
        runs = [clock.measure for clock in clocks if clock.ended_at is None]
        return not any(each.id == measure.id or each.target.what == "first_response" for each in runs)
    return measure.id not in begun and measure.since <= session.opened_at


def _moved(clock: Clock, told: Told) -> Clock:
    what, at = clock.measure.target.what, told.instant
    match told.event:
        case ev.RequestEnded(request=request, outcome=outcome) if request == clock.about and what == "decide":
            return _ended(clock, told, void=outcome in VOID)
        case ev.RequestHeld(request=request) if request == clock.about and what == "decide":
            return _ended(clock, told)
        case ev.SessionEnded() | ev.SessionCancelled() if what != "decide":
            return _ended(clock, told, void=what != "resolution" or isinstance(told.event, ev.SessionCancelled))
    speaker = _speaker(told) if what != "decide" else ""
    if speaker == "ours" and what != "resolution":
        return _ended(clock, told)
    if speaker == "ours" and clock.since is not None:
        return msgspec.structs.replace(clock, used=clock.used_at(at), since=None, upto=told.seq)
    if speaker == "customer" and clock.since is None:
        return msgspec.structs.replace(clock, since=at, upto=told.seq)
    return clock


def _ended(clock: Clock, told: Told, *, void: bool = False) -> Clock:
    used = clock.used_at(told.instant)
    outcome: Outcome = "void" if void else "met" if used <= clock.allowed else "missed"
    return msgspec.structs.replace(clock, used=used, since=None, ended_at=told.instant, outcome=outcome, upto=told.seq)
