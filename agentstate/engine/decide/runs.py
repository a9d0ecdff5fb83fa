"""Runs: the model is asked, it answers or fails, and the agent rests. An answer's calls are gated at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide import grants, looping, plans, supervision
from agentstate.engine.decide.commands import Answer, Ask, NoAnswer, Rest
from agentstate.engine.decide.conversation import MAX_TEXT, must_live
from agentstate.engine.decide.forks import speech
from agentstate.engine.decide.given import Given
from agentstate.engine.decide.pausing import must_not_be_paused
from agentstate.engine.decide.refusals import Outdated, TakenOver
from agentstate.engine.decide.talk import declared_anew
from agentstate.engine.instants import stamp
from agentstate.engine.looping.settings import cost
from agentstate.engine.state import SessionState, foresee

MAX_CALLS = 16  # calls in one answer
MODEL_ATTEMPTS = 6


def asked(command: Ask, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The model's turn, in a run that is started if there is none; or the end of a run that asked too often."""
    must_live(state)
    must_not_be_paused(state)
    if state.taken_by:
        raise TakenOver()
    trigger = "granted" if state.loop.granting else command.trigger
    started: list[ev.AnyEvent] = [] if state.run else [ev.RunStarted(given.new_id(), trigger)]
    if (stopped := looping.stop(state, command.model, given)) is not None:
        return [stopped]
    request = ev.ModelRequested(
        command.step,
        command.model,
        command.first,
        command.last,
        command.tools,
        command.digest,
        attempt=state.model_attempt + 1,
        user=state.user.digest,
        adapted=state.user.mappings,
        shown=command.shown,
    )
    return [*declared_anew(state, given), *started, request]


def answered(command: Answer, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """What the model said, its calls under ids of ours, and what becomes of each."""
    if command.step and command.step == state.desk.in_flight:
        return supervision.dropped(command)
    _must_be_asked(state, command.step)
    if given.halt.everything:
        return supervision.dropped(command, "stopped")
    proposed = command.calls[:MAX_CALLS]
    plan = plans.of_model(command, proposed, given.new_id)
    # Ids are ours: the idempotency key is made of the id, and models count from call_1 again and again.
    answer = ev.ModelAnswered(
        command.step,
        command.model,
        plan[1] if plan else tuple(msgspec.structs.replace(call, id=given.new_id()) for call in proposed),
        command.finish,
        command.input_tokens,
        command.output_tokens,
        micros_of(state, command.input_tokens, command.output_tokens, given),
    )
    said = command.text.strip()[:MAX_TEXT]
    first: list[ev.AnyEvent] = [speech(state, said, command.model)] if said else []
    if not proposed:
        return [*first, answer]
    then = state
    for event in (*first, answer):
        then = foresee(then, event, stamp(given.at))
    gates = _gated(plans.plain(plan, answer.calls), command, then, given)
    of_plan = plans.answered(then, plan, command.model, given) if plan else []
    return [*first, answer, *gates, *of_plan]


def _gated(calls: Sequence[ev.CallProposed], command: Answer, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """What becomes of each call. One that a grant lets through leaves less of it to those after it."""
    gates: list[ev.AnyEvent] = []
    for call in calls:
        gates.append(plans.beside(state, state.calls[call.id], command.model, given))
        if state.grants or given.grants:
            given = grants.counted(given, state, gates[-1])
            state = foresee(state, gates[-1], stamp(given.at))
    return gates


def micros_of(state: SessionState, input_tokens: int, output_tokens: int, given: Given) -> int:
    """What a request to the model that was asked last cost; 0 where it has no price. Tokens that nobody counted are
    estimated.
    """
    price = given.prices.get(state.memory.asked_model)
    return cost(price, input_tokens or state.memory.estimated, output_tokens) if price is not None else 0


def unanswered(command: NoAnswer, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The failure, and when to try again, if it is worth it."""
    if command.step and command.step == state.desk.in_flight:
        return supervision.dropped(command)
    _must_be_asked(state, command.step)
    again = command.transient and state.model_attempt < MODEL_ATTEMPTS
    retry_at = stamp(given.at + timedelta(seconds=command.pause)) if again else ""
    return [ev.ModelFailed(command.step, command.reason, command.transient, retry_at)]


def rested(command: Rest, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The end of the run, if there is one; what waited for it is heard."""
    if not state.run:
        return []
    return [ev.RunRested(state.run, command.waiting_for), *looping.heard_now(state)]


def _must_be_asked(state: SessionState, step: str) -> None:
    if not step or state.asking != step:
        raise Outdated(f"model request {step} is not open")
