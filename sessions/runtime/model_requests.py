"""Asking a model within its budget: what is shown is made to fit, what is asked is recorded, and then it is asked.

Where a model writes the summaries, that is a request of its own, recorded like any other; a summary that it does not
give is written by rules, so a model that is away delays nothing.
"""

from __future__ import annotations

import logging

from django.conf import settings

from agentstate.engine import model_request
from agentstate.engine.decide import Answer, Ask, Fit, NoAnswer, Notice, Summarise
from agentstate.engine.decide.looping import is_circling
from agentstate.engine.decide.memory import wanted_items
from agentstate.engine.memory.asking import summary_request
from agentstate.engine.memory.recollect import named
from agentstate.engine.memory.scene import Frame
from agentstate.engine.model import ModelFailed, ModelRequest
from agentstate.engine.state.rounds import private_places
from agentstate.engine.state.session import SessionState
from agentstate.ids import new_id
from sessions.agents import definition, model_choice, registry, token_counters, versions
from sessions.agents.registry import Agent
from sessions.core.committed import Committed
from sessions.core.partial_answers import Writing
from sessions.runtime import execution

log = logging.getLogger(__name__)


class Asking:
    """One request to a model, in two commands: the second makes anew only what the first has changed."""

    def __init__(self) -> None:
        self._frame: Frame | None = None
        self._built: tuple[SessionState, ModelRequest] | None = None

    def noticing(self, state: SessionState) -> Notice | None:
        """Tell the model that it goes in circles, before it is asked."""
        return Notice() if not state.asking and is_circling(state.loop, _agent(state).loop) else None

    def fitting(self, state: SessionState) -> Fit:
        """Make what the model is shown fit, before it is asked."""
        agent = _agent(state)
        model = model_choice.model_for(agent)
        request = definition.build(agent, model.name, state)
        self._built = (state, request)
        self._frame = model_request.frame(request, token_counters.named(agent.memory.counter), state.seq)
        speaks = model is not agent.script  # a script has no words for a summary
        if not speaks or agent.memory.summaries != "model":
            return Fit(model.name, self._frame)
        return Fit(model.name, self._frame, str(new_id()), versions.keep(agent))

    def asking(self, state: SessionState) -> Ask | None:
        """Ask the model; None while a summary is awaited, or when the agent had to give up."""
        if state.memory.wanted is not None or not (state.owes or state.asking):
            return None
        agent = _agent(state)
        model = model_choice.model_for(agent).name
        return _ask(state, agent, self._request(agent, model, state), self._frame)

    def _request(self, agent: Agent, model: str, state: SessionState) -> ModelRequest:
        """The request that was made to fit, where nothing had to change for it: of this very state."""
        if self._built is not None and self._built[0] is state and self._built[1].model == model:
            return self._built[1]
        return definition.build(agent, model, state)


def _ask(state: SessionState, agent: Agent, request: ModelRequest, frame: Frame | None) -> Ask:
    """The agent's definition is stored before the request that names it is committed."""
    counter = token_counters.named(agent.memory.counter)
    return Ask(
        step=str(new_id()),
        model=request.model,
        first=state.items[0].seq if state.items else state.seq,
        last=state.seq - 1,
        tools=tuple(tool.name for tool in request.tools),
        digest=model_request.digest(request),
        trigger=state.items[-1].role if state.items else "opened",
        shown=model_request.shown(request, versions.keep(agent), state, counter, agent.memory.budget, frame),
    )


def heard(committed: Committed, step: str) -> Answer | NoAnswer:
    """What the model answers to the request that was committed, passed on to colleagues while it speaks."""
    agent, state = _agent(committed.state), committed.state
    if not settings.AGENT_STREAMS:
        return execution.ask_model(agent, state, step)
    judged = registry.policy_named(agent.policy).judges_speech
    writing = Writing(committed.place, step, committed.seq, judged=judged)
    try:
        return execution.ask_model(agent, state, step, writing.hear)
    finally:
        writing.over()


def summarise(state: SessionState, step: str) -> Summarise:
    """Ask the model for the summary that `summary.requested` recorded."""
    agent, wanted = _agent(state), state.memory.wanted
    if wanted is None or wanted.step != step:
        return Summarise(step, "", "it is not wanted any more")
    model = model_choice.model_for(agent)
    replaced = named(state.memory, wanted.replaces)
    private = private_places(state.plans, agent.memory.private)
    request = summary_request(wanted.model, wanted_items(state, wanted), replaced, private, wanted.limit)
    try:
        answer = model.answer(request)
    except ModelFailed as error:
        return Summarise(step, "", str(error)[:500])
    except Exception as error:  # the session goes on all the same; the error's words may quote a customer
        log.error("model %s broke over a summary: %s", model.name, type(error).__name__)
        return Summarise(step, "", f"the model's adapter broke: {type(error).__name__}")
    usage = answer.usage
    if answer.calls:
        because = "the model proposed calls, and none was offered"
        return Summarise(step, "", because, usage.input_tokens, usage.output_tokens)
    return Summarise(step, answer.text, "", usage.input_tokens, usage.output_tokens)


def _agent(state: SessionState) -> Agent:
    assert state.opened is not None
    return registry.find(state.opened.agent)
