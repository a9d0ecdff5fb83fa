"""Timers of a session. Few, bounded in time, and none in a fork: what it would do belongs to its parent."""

from __future__ import annotations

from datetime import timedelta

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.automation import CancelTimer, Ring, SetTimer
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.refusals import Outdated
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import parse, stamp
from agentstate.engine.lifecycle import SessionStatus
from agentstate.engine.speech import MAX_TEXT
from agentstate.engine.state.session import SessionState
from agentstate.engine.timers import Timer, first_due
from agentstate.errors import Invalid, NotFound, Refused

MAX_TIMERS = 20  # of one session at a time
MAX_DAYS = 366


class TooManyTimers(Refused):
    """The session has as many timers as it may have."""

    code = "too_many_timers"
    remedy = "Cancel one of them."


class UnknownTimer(NotFound):
    """There is no such timer in this session; it may have fired."""

    code = "unknown_timer"


class ForkHasNoTimers(Refused):
    """A fork has no timers until it is promoted."""

    code = "fork_has_no_timers"


@command_handler(SetTimer)
def timer_set(command: SetTimer, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """A timer more, at most MAX_DAYS ahead. One that is due already fires at once."""
    must_live(state)
    if state.versions.is_draft:
        raise ForkHasNoTimers()
    if len(state.timers) >= MAX_TIMERS:
        raise TooManyTimers(f"{MAX_TIMERS} are allowed")
    text = command.text.strip()
    if command.what != "expire" and not text:
        raise Invalid("say what the agent is to be reminded of", field="text")
    if len(text) > MAX_TEXT:
        raise Invalid(f"got {len(text)} characters, at most {MAX_TEXT}", field="text")
    if command.due > stamp(context.at + timedelta(days=MAX_DAYS)):
        raise Invalid(f"at most {MAX_DAYS} days ahead", field="due")
    return [ev.TimerSet(context.new_id(), command.what, command.due, command.by, text)]


@command_handler(CancelTimer)
def timer_cancelled(command: CancelTimer, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """It will not fire. Raises UnknownTimer."""
    must_live(state)
    if command.timer not in state.timers:
        raise UnknownTimer()
    return [ev.TimerCancelled(command.timer, command.by)]


@command_handler(Ring)
def rung(command: Ring, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The timer that is due first, if the database says that it is due. Raises Outdated."""
    must_live(state)
    timer = first_due(state.timers)
    if timer is None or timer.due > command.now or state.paused_at:
        raise Outdated("no timer is due")
    if timer.what == "expire":
        return _expired(timer, state, command.now)
    if timer.what == "follow_up" and _heard_since(state, timer):
        return [ev.TimerFired(timer.id, "passed")]
    reopened: list[ev.AnyEvent] = [ev.SessionReopened("timer")] if state.expired_at else []
    return [*reopened, ev.TimerFired(timer.id, "told"), ev.MessageAdded("note", timer.text, "timer")]


def _expired(timer: Timer, state: SessionState, now: str) -> list[ev.AnyEvent]:
    if state.status is not SessionStatus.IDLE or state.expired_at or _heard_since(state, timer):
        return [ev.TimerFired(timer.id, "passed")]
    idle = max(0, int((parse(now) - parse(state.last_at)).total_seconds()))
    return [ev.TimerFired(timer.id, "expired"), ev.SessionExpired(idle)]


def _heard_since(state: SessionState, timer: Timer) -> bool:
    """Whether the customer has said something since the timer was set."""
    return any(item.role == "customer" and item.seq > timer.seq for item in state.items)
