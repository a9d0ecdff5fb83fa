"""What events change in the agent's run: model requests, bounds, loops, and messages that wait."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, ItemCall, added
from agentstate.engine.handlers import event_handler
from agentstate.engine.instants import parse
from agentstate.engine.lifecycle import CallMove, CallStatus
from agentstate.engine.looping import held
from agentstate.engine.looping.held import Loop, Waiting, used
from agentstate.engine.looping.settings import Limits
from agentstate.engine.state.calls import moved, told, trimmed
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.state.session import Call, SessionState


@event_handler(ev.RunStarted)
def run_started(state: SessionState, event: ev.RunStarted, at: str) -> SessionState:
    plans = state.plans
    if plans.approved is not None and not plans.run:
        plans = replace(plans, run=event.run)
    return replace(state, run=event.run, runs=state.runs + 1, loop=started(state.loop, state.seq, at), plans=plans)


@event_handler(ev.RunRested)
def run_rested(state: SessionState, event: ev.RunRested, at: str) -> SessionState:
    plans = state.plans
    if plans.approved is not None and plans.is_open:  # it goes on in the next run
        plans = replace(plans, run="")
    return replace(state, run="", loop=ended(state.loop, at), plans=plans)


@event_handler(ev.ModelRequested)
def model_requested(state: SessionState, event: ev.ModelRequested, at: str) -> SessionState:
    return replace(
        state,
        asking=event.step,
        owes=False,
        loop=used(state.loop, steps=1),
        model_attempt=event.attempt,
        model_retry_at="",
        failure="",
        memory=replace(
            state.memory,
            asked_model=event.model,
            estimated=event.shown.tokens if event.shown else 0,
            offered=event.tools,
        ),
    )


@event_handler(ev.ModelAnswered)
def model_answered(state: SessionState, event: ev.ModelAnswered, at: str) -> SessionState:
    proposed = {
        call.id: Call(call.id, call.tool, call.arguments, call.output_path, CallStatus.PROPOSED) for call in event.calls
    }
    tokens = (event.input_tokens or state.memory.estimated) + event.output_tokens
    state = replace(
        state, asking="", model_attempt=0, loop=used(state.loop, tokens, event.micros, calls=_count(event.calls))
    )
    if not event.calls:
        return state
    calls = tuple(ItemCall(c.id, c.tool, c.arguments, c.output_path) for c in event.calls)
    item = Item(seq=state.seq, role="agent", text="", by=event.model, calls=calls)
    return trimmed(
        replace(
            state,
            items=added(state.items, item),
            calls={**state.calls, **proposed},
            proposed=state.proposed + len(proposed),
        )
    )


def _count(calls: Sequence[ev.CallProposed]) -> int:
    """How many calls the model proposed; a whole plan counts as its calls."""
    plans = (call.arguments.get("calls") for call in calls if call.tool == PLAN)
    return len(calls) + sum(len(each) for each in plans if isinstance(each, list | tuple))


@event_handler(ev.ModelFailed)
def model_failed(state: SessionState, event: ev.ModelFailed, at: str) -> SessionState:
    if event.retry_at:
        return replace(state, asking="", owes=True, model_retry_at=event.retry_at)
    return replace(state, asking="", owes=False, failure=event.reason)


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


@event_handler(ev.RunStopped)
def run_stopped(state: SessionState, event: ev.RunStopped, at: str) -> SessionState:
    took = state.loop.seconds + seconds(state.loop, at)
    loop = replace(state.loop, stopped=event.code, seconds=took, since="", wanted=())
    return replace(state, failure=event.reason, owes=False, asking="", run="", loop=loop)


@event_handler(ev.RunGranted)
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


@event_handler(ev.RunInterrupted)
def run_interrupted(state: SessionState, event: ev.RunInterrupted, at: str) -> SessionState:
    state = replace(state, asking="", model_attempt=0, model_retry_at="")
    for call in event.calls:
        state = moved(state, call, CallMove.WITHDRAW)
        state = told(state, call, {"status": "withdrawn", "reason": SPOKEN})
    return state


@event_handler(ev.CircleNoticed)
def circle_noticed(state: SessionState, event: ev.CircleNoticed, at: str) -> SessionState:
    item = Item(seq=state.seq, role="note", text=event.note)
    loop = replace(state.loop, marks=(), noticed=event.marks)
    if not event.marks:  # of one tool, whatever its arguments
        loop = replace(state.loop, overused=(*state.loop.overused, *event.tools), latest="")
    return replace(state, items=added(state.items, item), owes=True, loop=loop)


@event_handler(ev.MessageQueued)
def message_queued(state: SessionState, event: ev.MessageQueued, at: str) -> SessionState:
    waiting = (*state.loop.waiting, Waiting(state.seq, event.text, event.by))
    return replace(state, loop=replace(state.loop, waiting=waiting))


@event_handler(ev.MessageRefused)
def message_refused(state: SessionState, event: ev.MessageRefused, at: str) -> SessionState:
    return state  # that it was sent is on record; the agent never hears it


@event_handler(ev.DelegateOpened)
def delegate_opened(state: SessionState, event: ev.DelegateOpened, at: str) -> SessionState:
    return replace(state, loop=held.reserved(state.loop, event.session, event.share, event.run))


@event_handler(ev.DelegateEnded)
def delegate_ended(state: SessionState, event: ev.DelegateEnded, at: str) -> SessionState:
    spent = held.Used(event.tokens, event.micros, event.steps, event.calls)
    return replace(state, loop=held.settled(state.loop, event.session, spent, state.run))
