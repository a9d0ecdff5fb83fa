"""What events change in the agent's run: it is started, the model is asked, answers or fails, and it rests.

A function an event, named like it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, ItemCall, added
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.looping.held import used
from agentstate.engine.state.calls import trimmed
from agentstate.engine.state.looping import ended, started
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.state.session import Call, SessionState


def run_started(state: SessionState, event: ev.RunStarted, at: str) -> SessionState:
    plans = state.plans
    if plans.approved is not None and not plans.run:
        plans = replace(plans, run=event.run)
    return replace(state, run=event.run, runs=state.runs + 1, loop=started(state.loop, state.seq, at), plans=plans)


def run_rested(state: SessionState, event: ev.RunRested, at: str) -> SessionState:
    plans = state.plans
    if plans.approved is not None and plans.is_open:  # it goes on in the next run
        plans = replace(plans, run="")
    return replace(state, run="", loop=ended(state.loop, at), plans=plans)


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


def model_failed(state: SessionState, event: ev.ModelFailed, at: str) -> SessionState:
    if event.retry_at:
        return replace(state, asking="", owes=True, model_retry_at=event.retry_at)
    return replace(state, asking="", owes=False, failure=event.reason)
