"""Runs: the model is asked, it answers or fails, and the agent rests. An answer's calls are gated at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide import fatigue, grants, looping, offers, plans, speech, supervision
from agentstate.engine.decide.commands.runs import Answer, Ask, NoAnswer, Rest
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.gates import preview_of
from agentstate.engine.decide.pausing import must_not_be_paused
from agentstate.engine.decide.refusals import Outdated, TakenOver
from agentstate.engine.decide.schema import place_named
from agentstate.engine.decide.talk import declared_anew
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.looping.settings import cost
from agentstate.engine.speech import MAX_TEXT
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState

MODEL_ATTEMPTS = 6
_LEAVES_LESS = (ev.ApprovalRequested, ev.ReferencesResolved)


@command_handler(Ask)
def asked(command: Ask, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The model's turn, in a run that is started if there is none; or the end of a run that asked too often."""
    must_live(state)
    must_not_be_paused(state)
    if state.taken_by:
        raise TakenOver()
    trigger = "granted" if state.loop.granting else command.trigger
    started: list[ev.AnyEvent] = [] if state.run else [ev.RunStarted(context.new_id(), trigger)]
    if (stopped := _rests(state, context) or looping.stop(state, command.model, context)) is not None:
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
    return [*declared_anew(state, context), *started, request]


def _rests(state: SessionState, context: CommandContext) -> ev.RunStopped | None:
    """Stops the run of an agent that asks again after too many rejections: a person says whether it goes on."""
    calls = [state.calls[each] for each in state.loop.wanted if each in state.calls]
    if not calls:
        return None
    known = [(call, context.tools[call.tool]) for call in calls if call.tool in context.tools]
    wanted = "; ".join(preview_of(call, state, facts, context)[: fatigue.MAX_TEXT] for call, facts in known)
    words = f"people rejected its calls, and it asks again. Rejected: {fatigue.rejected(state)}. Wanted: {wanted}"
    used = fatigue.refusals(state, context)
    return ev.RunStopped(state.run, "refusals", "session", used, context.loop.refusals, words)


@command_handler(Answer)
def answered(command: Answer, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What the model said, its calls under ids of ours, and what becomes of each."""
    if command.step and command.step == state.desk.in_flight:
        return supervision.dropped(command)
    _must_be_asked(state, command.step)
    if context.halt.everything:
        return supervision.dropped(command, "stopped")
    if reason := offers.unusable(command):
        return [ev.ModelFailed(command.step, reason, False)]
    command = msgspec.structs.replace(command, calls=tuple(_placed(call, context) for call in command.calls))
    refusals = offers.refusals(command.calls, state, context)
    plan = plans.of_model(command.calls, refusals, context)
    said = command.text.strip()[:MAX_TEXT]
    held = speech.proposed(state, said, context)
    answer = _recorded(command, plan, held, state, context)
    first: list[ev.AnyEvent] = [speech.message(state, said, command.model)] if said and held is None else []
    if not answer.calls:
        return [*first, answer]
    refused = {answer.calls[place].id: refusal for place, refusal in refusals.items()}
    first += [answer, *(ev.CallRefused(call, each.code, each.reason) for call, each in refused.items())]
    then = state
    for event in first:
        then = evolve(then, event, stamp(context.at))
    if held is not None:
        first.append(speech.gated(then, then.calls[held.id], context))
    own = [call for call in answer.calls if call is not held and call.id not in refused]
    plain = [call for call in own if not (plan and plans.belongs(plan, call))]
    gates = _gated(plain, command, then, context)
    of_plan = plans.answered(then, plan, command.model, context) if plan else []
    return [*first, *gates, *of_plan]


def _recorded(
    command: Answer, plan: plans.Form | None, held: ev.CallProposed | None, state: SessionState, context: CommandContext
) -> ev.ModelAnswered:
    """The answer as it is recorded, with the words that are `held` as its last call. Ids are ours: the idempotency key
    is made of the id, and models count from call_1 again and again.
    """
    calls = plan[1] if plan else tuple(msgspec.structs.replace(call, id=context.new_id()) for call in command.calls)
    return ev.ModelAnswered(
        command.step,
        command.model,
        calls if held is None else (*calls, held),
        command.finish,
        command.input_tokens,
        command.output_tokens,
        micros_of(state, command.input_tokens, command.output_tokens, context),
        max(0, len(command.text.strip()) - MAX_TEXT),
    )


def _placed(call: ev.CallProposed, context: CommandContext) -> ev.CallProposed:
    """The call with the place of its tool's result, where its tool has one of its own."""
    if call.tool not in context.output_paths:
        return call
    return msgspec.structs.replace(call, output_path=place_named(call.tool, call.arguments, context))


def _gated(
    calls: Sequence[ev.CallProposed], command: Answer, state: SessionState, context: CommandContext
) -> list[ev.AnyEvent]:
    """What becomes of each call. One that a grant lets through leaves less of it to those after it, one that waits for
    people less room for others to wait, and one that resolves references nothing to resolve.
    """
    gates: list[ev.AnyEvent] = []
    for call in calls:
        gates.append(plans.beside(state, state.calls[call.id], command, context))
        if state.grants or context.grants or isinstance(gates[-1], _LEAVES_LESS):
            context = grants.counted(context, state, gates[-1])
            state = evolve(state, gates[-1], stamp(context.at))
    return gates


def micros_of(state: SessionState, input_tokens: int, output_tokens: int, context: CommandContext) -> int:
    """What a request to the model that was asked last cost; 0 where it has no price. Tokens that nobody counted are
    estimated.
    """
    price = context.prices.get(state.memory.asked_model)
    return cost(price, input_tokens or state.memory.estimated, output_tokens) if price is not None else 0


@command_handler(NoAnswer)
def unanswered(command: NoAnswer, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The failure, and when to try again, if it is worth it."""
    if command.step and command.step == state.desk.in_flight:
        return supervision.dropped(command)
    _must_be_asked(state, command.step)
    again = command.transient and state.model_attempt < MODEL_ATTEMPTS
    retry_at = stamp(context.at + timedelta(seconds=command.pause)) if again else ""
    return [ev.ModelFailed(command.step, command.reason, command.transient, retry_at)]


@command_handler(Rest)
def rested(command: Rest, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The end of the run, if there is one; what waited for it is heard."""
    if not state.run:
        return []
    return [ev.RunRested(state.run, command.waiting_for), *looping.heard_now(state)]


def _must_be_asked(state: SessionState, step: str) -> None:
    if not step or state.asking != step:
        raise Outdated(f"model request {step} is not open")
