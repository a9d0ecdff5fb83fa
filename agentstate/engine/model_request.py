"""The bounded context: what a model is given for a step of a session, from its state and the definition of its agent.

Pure. The conversation is `engine.memory`'s; here it meets the agent: instructions, tools, and the scratchpad without
what is private. The same definition and state make the same bytes, which is how an old step is rebuilt.
"""

from __future__ import annotations

from functools import lru_cache
from operator import sub
from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide.charts import ALWAYS
from agentstate.engine.decide.withdrawals import WITHDRAW_CALL, withdrawable
from agentstate.engine.memory.context import FORM, messages
from agentstate.engine.memory.correction import factor_for
from agentstate.engine.memory.data import told
from agentstate.engine.memory.room import NOWHERE, fitted
from agentstate.engine.memory.scene import Frame
from agentstate.engine.memory.shown import ModelRequest, ToolSpec, json_text, request_digest, tokens_of
from agentstate.engine.memory.tokens import Counter
from agentstate.engine.schemas import Declared
from agentstate.engine.schemas.importance import importance_of
from agentstate.engine.scratchpad import messages as messages_of
from agentstate.engine.scratchpad import scopes
from agentstate.engine.scratchpad.form import asked_for, blanks
from agentstate.engine.scratchpad.private import visible
from agentstate.engine.state import rounds
from agentstate.engine.state.session import SessionState
from agentstate.engine.understanding import notes
from agentstate.engine.understanding.answer import RESOLVE_REFERENCES
from agentstate.engine.understanding.held import Talk
from agentstate.engine.understanding.private import visible_talk


class Definition(msgspec.Struct, frozen=True):
    """An agent as its requests show it. `forms`: each version of its state's schema, by reference, as JSON."""

    instructions: str
    tools: tuple[ToolSpec, ...]
    private: tuple[str, ...] = ()
    forms: dict[str, str] = {}
    scopes: tuple[str, ...] | None = None  # all that its requests show of state and data; None: everything
    data: int = 0  # characters that they have for data messages
    room: int = (
        0  # characters that they have for the scratchpad; a quarter as many each for plan, profile and form; 0: any
    )


def build(definition: Definition, model: str, state: SessionState) -> ModelRequest:
    """Returns the request that an agent so defined makes, or made, of `state`."""
    private = rounds.private_places(state.plans, definition.private)
    talk = visible_talk(state.talk, private)
    known = notes.known(talk, definition.room // 4)
    return ModelRequest(
        model=model,
        instructions="\n".join((definition.instructions, *state.chart.instructions, *state.user.instructions)),
        messages=messages(state.items, state.memory.summaries, private),
        tools=_tools(definition, state, known),
        state={
            **_scoped(definition, state),
            "session": _session(state),
            **_within(definition, _user(state)),
            **_talk(definition, talk, known),
            **_within(definition, _plan(state)),
            **_within(definition, _lacks(definition, state)),
        },
        parameters=state.user.parameters,
    )


def _tools(definition: Definition, state: SessionState, known: dict[str, Any]) -> tuple[ToolSpec, ...]:
    """The agent's tools that may be called where the session's chart stands; some are none of a chart's. Withdrawing is
    offered while there is something to withdraw, resolving references while there is something to say of a message.
    """
    left = (
        *(() if withdrawable(state) else (WITHDRAW_CALL,)),
        *(() if known else (RESOLVE_REFERENCES,)),
    )
    allowed = state.chart.tools
    return tuple(
        tool
        for tool in definition.tools
        if tool.name not in left and (allowed is None or tool.name in allowed or tool.name in ALWAYS)
    )


def _scoped(definition: Definition, state: SessionState) -> dict[str, Any]:
    """The scratchpad and, below `data`, what data messages have made: as far as the agent's scopes let it through and
    without what is private.
    """
    views = {
        **told(state.plans.own.data, rounds.private_schemas_of(state.plans, ""), definition.data),
        messages_of.STATE: visible(state.pad, definition.private),
    }
    if definition.scopes is not None:
        views = scopes.narrowed(views, definition.scopes)
    data = {kind: value for kind, value in views.items() if kind != messages_of.STATE}
    pad = _bounded(definition, state, views.get(messages_of.STATE, {}))
    return {**pad, **({"data": data} if data else {})}


def _bounded(definition: Definition, state: SessionState, pad: dict[str, Any]) -> dict[str, Any]:
    """The scratchpad as far as there is room, the most important parts first."""
    if not definition.room:
        return pad
    source = definition.forms.get(state.schema.reference)
    important = importance_of(source.encode()) if source is not None else NOWHERE
    shown: dict[str, Any] = fitted(pad, definition.room, important)
    return shown


def _within(definition: Definition, part: dict[str, Any]) -> dict[str, Any]:
    """One part of the state beside the scratchpad, in a quarter of its room."""
    room = definition.room // 4
    return {name: fitted(value, room) for name, value in part.items()} if room else part


def _session(state: SessionState) -> dict[str, str]:
    """What every agent may know of its session. Facts, so they stand over anything the scratchpad holds there."""
    opened = state.opened
    return {"customer": opened.customer, "channel": opened.channel, "topic": opened.topic} if opened else {}


def _user(state: SessionState) -> dict[str, Any]:
    """What is known of the customer across sessions, where anything is."""
    return {"user": state.user.view} if state.user.view else {}


def _talk(definition: Definition, talk: Talk, known: dict[str, Any]) -> dict[str, Any]:
    """The entities that the model may name, or what phrases mean. `talk` holds nothing private."""
    if known:
        return {"known": known}
    facts = notes.facts(talk)
    return _within(definition, {"references": facts}) if facts else {}


def _plan(state: SessionState) -> dict[str, Any]:
    """The plan that was committed last, and where its calls stand, once there is one."""
    told = rounds.message(state.plans)
    return {"plan": told} if told else {}


def _lacks(definition: Definition, state: SessionState) -> dict[str, Any]:
    """What the form, the schema of the scratchpad, still lacks: a line for each field, none for what is private."""
    source = definition.forms.get(state.schema.reference)
    if source is None:
        return {}
    form = Declared(state.schema.name, state.schema.version, source.encode())
    lines = asked_for(blanks(form, state.pad))
    return {"lacks": lines.splitlines()} if lines else {}


def digest(request: ModelRequest) -> str:
    """SHA-256 over the exact request, as `model.requested` records it."""
    return request_digest(request)


def frame(request: ModelRequest, counter: Counter, seq: int = -1) -> Frame:
    """Tokens of what the request holds beside the conversation; of that too where `seq`, how many entries the state has
    that it is made of, is given.
    """
    fixed = Frame(
        instructions=counter.count(request.instructions),
        tools=sum(_tool_tokens(json_text(tool), counter) for tool in request.tools),
        state=counter.count(json_text(request.state)),
    )
    if seq < 0:
        return fixed
    summaries = tokens_of([message for message in request.messages if message.role == "summary"], counter)
    told = tokens_of(request.messages, counter) - summaries
    return replace(fixed, messages=told, summaries=summaries, seq=seq)


@lru_cache(maxsize=1024)
def _tool_tokens(text: str, counter: Counter) -> int:
    """Tools are configuration: their tokens are counted once."""
    return counter.count(text)


def shown(
    request: ModelRequest,
    definition: str,
    state: SessionState,
    counter: Counter,
    budget: int,
    fixed: Frame | None = None,
) -> ev.Shown:
    """What `model.requested` records of a request beside its digest. `definition` is the digest of the agent's, `fixed`
    the request's frame where that was counted already, of this very state.
    """
    if fixed is None or fixed.seq != state.seq:
        fixed = frame(request, counter, state.seq)
    return ev.Shown(
        form=FORM,
        definition=definition,
        counter=counter.name,
        budget=budget,
        factor=factor_for(state.memory.corrections, request.model),
        instructions=fixed.instructions,
        tools=fixed.tools,
        state=fixed.state,
        messages=fixed.messages,
        summaries=fixed.summaries,
        items=(),
        summarised=tuple(summary.seq for summary in state.memory.summaries),
        steps=_steps([item.seq for item in state.items]),
        entities=_entities(request),
    )


def _entities(request: ModelRequest) -> int | msgspec.UnsetType:
    """How many known entities the request names. Without the tool, `known` is a value of the agent's own scratchpad."""
    if all(tool.name != RESOLVE_REFERENCES for tool in request.tools):
        return msgspec.UNSET
    return len(request.state["known"]["entities"])


def _steps(entries: list[int]) -> tuple[int, ...]:
    """The first, then how far each lies from the one before."""
    return tuple(map(sub, entries, (0, *entries)))
