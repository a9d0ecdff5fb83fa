"""What events change in the bounds of the loop: a run is stopped, granted more, interrupted; a message waits.

A function an event, named like it.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, added
from agentstate.engine.instants import parse
from agentstate.engine.lifecycle import CallMove
from agentstate.engine.looping import held
from agentstate.engine.looping.held import Loop, Waiting
from agentstate.engine.looping.settings import Limits
from agentstate.engine.state.calls import moved, told
from agentstate.engine.state.session import SessionState

SPOKEN = "The customer spoke before it began."


def started(loop: Loop, seq: int, at: str) -> Loop:
    """The loop of a run that starts. One that a person let go on keeps its count; its clock starts anew."""
    base = loop if loop.granting else held.over(loop)
    return replace(base, begun=seq, since=at, granting=False)


def ended(loop: Loop, at: str) -> Loop:
    """The loop once its run is over: the time that it took is the session's."""
    return replace(held.over(loop), seconds=loop.seconds + seconds(loop, at))


def seconds(loop: Loop, at: str) -> int:
    """Whole seconds that the run has taken at instant `at`."""
    return int((parse(at) - parse(loop.since)).total_seconds()) if loop.since else 0


def heard(loop: Loop, queued: int) -> Loop:
    """The loop once somebody has spoken: a circle was about what stood before, a stop is over, and what waited under
    the entry `queued` does not wait any more.
    """
    waiting = tuple(each for each in loop.waiting if each.seq != queued)
    return replace(held.circling_anew(loop), stopped="", granting=False, waiting=waiting)


def run_stopped(state: SessionState, event: ev.RunStopped, at: str) -> SessionState:
    took = state.loop.seconds + seconds(state.loop, at)
    loop = replace(state.loop, stopped=event.code, seconds=took, since="", wanted=())
    return replace(state, failure=event.reason, owes=False, asking="", run="", loop=loop)


def run_granted(state: SessionState, event: ev.RunGranted, at: str) -> SessionState:
    more = Limits(event.tokens, event.micros, event.steps, event.seconds, event.calls)
    loop = replace(state.loop, pardoned=max(state.loop.pardoned, event.refusals))
    if event.of == "run":
        loop = replace(loop, granted=held.plus(loop.granted, more))
    else:
        loop = replace(loop, granted_session=held.plus(loop.granted_session, more))
    if not event.code:
        return replace(state, loop=loop)
    loop = replace(held.circling_anew(loop), stopped="", granting=True, misfits=0)
    return replace(state, loop=loop, failure="", owes=True)


def run_interrupted(state: SessionState, event: ev.RunInterrupted, at: str) -> SessionState:
    state = replace(state, asking="", model_attempt=0, model_retry_at="")
    for call in event.calls:
        state = moved(state, call, CallMove.WITHDRAW)
        state = told(state, call, {"status": "withdrawn", "reason": SPOKEN})
    return state


def circle_noticed(state: SessionState, event: ev.CircleNoticed, at: str) -> SessionState:
    item = Item(seq=state.seq, role="note", text=event.note)
    loop = replace(state.loop, marks=(), noticed=event.marks)
    if not event.marks:  # of one tool, whatever its arguments
        loop = replace(state.loop, overused=(*state.loop.overused, *event.tools), latest="")
    return replace(state, items=added(state.items, item), owes=True, loop=loop)


def message_queued(state: SessionState, event: ev.MessageQueued, at: str) -> SessionState:
    waiting = (*state.loop.waiting, Waiting(state.seq, event.text, event.by))
    return replace(state, loop=replace(state.loop, waiting=waiting))


def message_refused(state: SessionState, event: ev.MessageRefused, at: str) -> SessionState:
    return state  # that it was sent is on record; the agent never hears it


def delegate_opened(state: SessionState, event: ev.DelegateOpened, at: str) -> SessionState:
    return replace(state, loop=held.reserved(state.loop, event.session, event.share, event.run))


def delegate_ended(state: SessionState, event: ev.DelegateEnded, at: str) -> SessionState:
    spent = held.Used(event.tokens, event.micros, event.steps, event.calls)
    return replace(state, loop=held.settled(state.loop, event.session, spent, state.run))
