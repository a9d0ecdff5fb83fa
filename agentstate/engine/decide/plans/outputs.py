"""What a call of a plan gives: a result, an error or a person's answer is judged before it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.calls import Return
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.schema import in_force, misfit_at, write_rules
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.plan import model
from agentstate.engine.plan.rounds import BadOutcome
from agentstate.engine.references import Path
from agentstate.engine.scratchpad import messages
from agentstate.engine.scratchpad.private import detail_without
from agentstate.engine.state.rounds import board_of, boards, data_instance, pad_of, planned, private_schemas_of
from agentstate.engine.state.session import Call, SessionState
from agentstate.engine.writers import WORDS, of_words, writer_of
from agentstate.errors import Invalid, Refused


def output(command: Return, call: Call, state: SessionState, context: CommandContext) -> ev.AnyEvent:
    """The result of a call of a plan, or its failure when it fits nowhere: it ran all the same."""
    found = planned(state.plans, call.id)
    if found is None:  # the plan has moved on: the result is recorded, and written nowhere
        return ev.ToolReturned(call.id, command.attempt, command.result, answered=command.answered)
    try:
        must_fit(state, call, found, command.result, context, command.outcome)
    except (Invalid, Refused) as error:
        private = messages.private_paths(private_schemas_of(state.plans, data_instance(state.plans, call.id)))
        reason = f"it ran, but its result was not taken: {detail_without(error, private)}"
        return ev.ToolFailed(call.id, command.attempt, reason, False, "", error.code, command.result)
    path = found.output_path or None
    return ev.ToolReturned(
        call.id, command.attempt, command.result, path, command.outcome, command.answered, command.authors
    )


def must_fit(
    state: SessionState, call: Call, found: model.Call, result: Any, context: CommandContext, outcome: int = 0
) -> None:
    """Raises Invalid where the outcome does not exist, or the result may not be written where it says."""
    outcomes = found.alternatives
    if not 0 <= outcome < max(1, len(outcomes)):
        raise BadOutcome(f"got outcome {outcome}, there are {len(outcomes)}")
    pad = pad_of(state.plans, state.pad, data_instance(state.plans, call.id))
    actor = writer_of(call.tool, bool(found.delegate))
    for path in outcomes[outcome] if outcomes else ():
        if path.kind != messages.STATE:
            _must_fit_data(state, call, path, result)
        elif broken := misfit_at(pad, str(path), actor, result, in_force(state, context)):
            raise Invalid(broken)


def _must_fit_data(state: SessionState, call: Call, path: Path, result: Any) -> None:
    """Raises BreaksSchema, or TooMuchData."""
    board = board_of(state.plans, data_instance(state.plans, call.id))
    after = messages.written(board, path, result)
    messages.must_have_room(boards(state.plans), board, path.kind, after)


def judged(events: Iterable[ev.AnyEvent], state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The events. An error or an answer that has no place in the state says why it is not written."""
    found = list(events)
    return [_judged(each, found, state, context) for each in found] if state.plans.round else found


def _judged(event: ev.AnyEvent, events: list[ev.AnyEvent], state: SessionState, context: CommandContext) -> ev.AnyEvent:
    match event:
        case ev.ToolFailed(call=key, reason=reason) if not event.retry_at:
            return replace(event, unwritten=_unwritten_error(state, key, reason, context))
        case ev.CallIntervened(call=key, reason=reason) if _fails(state, event):
            return replace(event, unwritten=_unwritten_error(state, key, reason, context))
        case ev.RequestEnded(request=number, outcome="responded") if number in state.requests:
            said = (each.response for each in events if isinstance(each, ev.DecisionMade) and each.request == number)
            key = state.requests[number].asked.call
            found = planned(state.plans, key)
            groups = found.alternatives[:1] if found is not None else ()
            return replace(event, unwritten=_unwritten(state, key, groups, next(said, ""), context))
        case _:
            return event


def _fails(state: SessionState, event: ev.CallIntervened) -> bool:
    """Whether a person says that a call of unknown outcome did not happen, and it is not tried again."""
    call = state.calls.get(event.call)
    doubted = call is not None and call.status is CallStatus.DOUBTED
    return doubted and (event.how == "skip" or (event.how == "not_happened" and state.ended))


def _unwritten_error(state: SessionState, key: str, reason: str, context: CommandContext) -> str:
    found = planned(state.plans, key)
    groups = found.alternatives[-1:] if found is not None and found.has_error_path else ()
    return _unwritten(state, key, groups, {"error": reason}, context)


def _unwritten(
    state: SessionState, key: str, groups: Iterable[tuple[Path, ...]], value: Any, context: CommandContext
) -> str:
    """Why a value that is not a tool's result may not be written there; empty: it may."""
    return next(_refusals(state, key, groups, value, context), "")


def _refusals(
    state: SessionState, key: str, groups: Iterable[tuple[Path, ...]], value: Any, context: CommandContext
) -> Iterator[str]:
    pad, declared = pad_of(state.plans, state.pad, data_instance(state.plans, key)), in_force(state, context)
    for path in (path for group in groups for path in group if path.kind == messages.STATE):
        if (refused := of_words(path, write_rules(state, context))) is not None:
            yield refused.detail
        if broken := misfit_at(pad, str(path), WORDS, value, declared):
            yield broken
