"""The effects: running a tool, asking a model. Each is called after its intent is committed, and gives the command
that records it.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide import Answer, Fail, NoAnswer, Return
from agentstate.engine.decide.calls import NO_ANSWER
from agentstate.engine.model import ModelAnswer, ModelFailed
from agentstate.engine.state.session import Call, SessionState
from sessions.agents import definition, model_choice, registry
from sessions.agents.registry import Agent
from sessions.core import crash_points
from sessions.core.commit import jitter
from sessions.core.partial_answers import Dropped
from sessions.outside import cancellation
from sessions.runtime import model_tasks
from sessions.runtime.views import received, view_of
from sessions.tools import registry as tools
from sessions.tools.masks import masked, without_copies
from sessions.tools.registry import USUAL_TIMEOUT, Chosen, Tool, ToolContext, ToolFailed

log = logging.getLogger(__name__)
MAX_RESULT = 256_000  # bytes of one tool's result

_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=Decimal)


def run_call(session: str, state: SessionState, call: Call) -> Return | Fail:
    """Run the tool of a call whose intent is committed, in this thread, however long it takes."""
    tool = tools.find(call.tool)
    if tool is None:
        return Fail(call.id, call.attempt, f"the tool {call.tool!r} is not registered any more", transient=False)
    run = tool.run
    if call.activity:
        activity = tool.activities.get(call.activity)
        if activity is None:
            gone = f"{call.tool} has no activity {call.activity!r} any more"
            return Fail(call.id, call.attempt, gone, transient=False)
        run = activity.run
    if run is None:
        return _asked(state, call, tool)
    customer = state.opened.customer if state.opened else ""
    view = view_of(state, call, tool)
    key = f"{call.id}.{state.epoch}"
    handed = ToolContext(session, call.id, key, customer, call.attempt, view, cancellation.current())
    try:
        result = run(deepcopy(call.arguments), handed)  # the state's own stay as they are
    except ToolFailed as error:
        pause = max(_pause(tool, call), error.after)
        reason = without_copies(str(error), _private_to(state, call, tool))
        return Fail(call.id, call.attempt, reason[:500], error.transient, pause, error.code)
    except Exception as error:
        _told("tool", call.tool, error)
        return Fail(call.id, call.attempt, f"the tool broke: {type(error).__name__}", transient=False, code="broke")
    crash_points.point("after_effect", call.tool)
    chosen = result if isinstance(result, Chosen) else Chosen(0, result)
    return _recorded(call, tool, chosen, _private_to(state, call, tool))


def _private_to(state: SessionState, call: Call, tool: Tool) -> list[Any]:
    """The private values that the tool was given."""
    return [found.value for _, found in received(state, call, tool)]


def _asked(state: SessionState, call: Call, tool: Tool) -> Return | Fail:
    """What the model answers to a call of a tool without a function."""
    assert state.opened is not None
    agent = registry.find(state.opened.agent)
    model = model_choice.model_for(agent)
    try:
        return model_tasks.answered(agent, tool, state, call, model)
    except ModelFailed as error:
        return Fail(call.id, call.attempt, str(error)[:500], error.transient, _pause(tool, call))
    except Exception as error:
        _told("model", model.name, error)
        return Fail(call.id, call.attempt, f"the model's adapter broke: {type(error).__name__}", transient=False)


def seconds_for(call: Call) -> float:
    """The seconds that the call's tool may take."""
    tool = tools.find(call.tool)
    return tool.timeout if tool is not None else USUAL_TIMEOUT


def too_slow(call: Call) -> Fail:
    """The failure of an attempt whose time is up. It may have happened all the same."""
    tool = tools.find(call.tool)
    pause = _pause(tool, call) if tool is not None else 0.0
    reason = f"no answer within {seconds_for(call):g} s"
    return Fail(call.id, call.attempt, reason, transient=True, pause=pause, code=NO_ANSWER)


def _pause(tool: Tool, call: Call) -> float:
    return jitter(tool.retry.base_seconds, call.attempt)


def _told(kind: str, name: str, error: Exception) -> None:
    """Where it broke, for the log, without the error's own words: they may quote what a customer said."""
    where = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s %s broke: %s\n%s", kind, name, type(error).__name__, where)


def _recorded(call: Call, tool: Tool, chosen: Chosen, private: list[Any]) -> Return | Fail:
    try:
        data = _encoder.encode(chosen.result)
        result = _decoder.decode(data)  # as it will be read back; a Decimal that is no number fails here
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        return Fail(call.id, call.attempt, f"the result is not JSON: {error}"[:500], transient=False)
    if len(data) > MAX_RESULT:
        return Fail(call.id, call.attempt, f"the result has {len(data)} bytes, at most {MAX_RESULT}", transient=False)
    if broken := tool.misfit(result):
        reason = f"it ran, but its result is not what the tool declares: {broken}"
        reason = without_copies(reason, private)
        return Fail(call.id, call.attempt, reason[:500], transient=False, code="breaks_schema")
    return Return(call.id, call.attempt, without_copies(masked(result, tool.masked), private), chosen.outcome)


def ask_model(
    agent: Agent, state: SessionState, step: str, on_text: Callable[[str], None] | None = None
) -> Answer | NoAnswer:
    """Ask the model what `model.requested` recorded. `on_text` hears what it says while it says it."""
    model = model_choice.model_for(agent)
    pause = jitter(1.0, state.model_attempt)
    try:
        answer = model.answer(definition.build(agent, model.name, state), on_text=on_text)
    except Dropped:
        return NoAnswer(step, "nobody waits for the answer any more", False)
    except ModelFailed as error:
        return NoAnswer(step, str(error)[:500], error.transient, pause)
    except Exception as error:
        _told("model", model.name, error)
        return NoAnswer(step, f"the model's adapter broke: {type(error).__name__}", False, pause)
    crash_points.point("after_model")
    return _answer(step, answer)


def _answer(step: str, answer: ModelAnswer) -> Answer:
    return Answer(
        step=step,
        model=answer.model,
        text=answer.text,
        calls=tuple(ev.CallProposed(call.id, call.tool, call.arguments, call.output_path) for call in answer.calls),
        finish=answer.finish,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
    )


def model_name(agent: Agent) -> str:
    """The name of the model that will be asked, as entries record it."""
    return model_choice.model_for(agent).name
