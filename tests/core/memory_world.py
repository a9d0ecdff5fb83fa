"""Conversations in memory for the tests of what is remembered, and the laws that hold of them at every moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from msgspec import structs

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import model_request
from agentstate.engine.conversation import LONGEST, MOST_ITEMS
from agentstate.engine.memory.pins import MOST_PINS
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.summaries import LONGEST_TEXT, MOST
from agentstate.engine.memory.tokens import ESTIMATE, Counter
from agentstate.engine.model import ModelRequest
from agentstate.engine.state.memory import open_calls
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import to_snapshot
from sessions.agents import definition
from sessions.agents.registry import Agent
from tests.core.laws import told_well
from tests.core.worlds import World

KINDS_OF_ITEMS = (ev.CallRefused, ev.RequestEnded, ev.ToolReturned, ev.ToolFailed)


def agent(budget: int = 8_000, **memory: Any) -> Agent:
    """An agent with few words of its own."""
    return Agent("test", "You serve the customers of a bank.", (), "bank", {}, Remembering(budget, **memory))


def remembering(world: World, of: Agent) -> World:
    """The world under the settings of that agent."""
    return replace(world, memory=of.memory)


def asked(world: World, of: Agent, *calls: ev.CallProposed, text: str = "", counted: int = 0) -> World:
    """The world after the runtime made what is shown fit, asked the model, and the model answered."""
    world, request = about_to_ask(world, of)
    step = f"step-{len(world.history)}"
    told = model_request.shown(request, "definition", world.state, ESTIMATE, of.memory.budget)
    ask = core.Ask(step, "model", 0, 0, tuple(world.tools), model_request.digest(request), shown=told)
    return world.after(ask, core.Answer(step, "model", text, calls, input_tokens=counted), core.Rest("customer"))


def about_to_ask(world: World, of: Agent, counter: Counter = ESTIMATE) -> tuple[World, ModelRequest]:
    """The world after what is shown was made to fit, and the request then."""
    request = definition.build(of, "model", world.state)
    world = world.after(core.Fit("model", model_request.frame(request, counter)))
    return world, definition.build(of, "model", world.state)


def tokens(request: ModelRequest, state: SessionState, counter: Counter = ESTIMATE) -> int:
    """Tokens of a whole request by the counter, before correction."""
    return model_request.shown(request, "", state, counter, 0).tokens


def least_tokens(world: World, of: Agent) -> int:
    """Tokens of a request that shows nothing but what is pinned or open: the whole of each call with its results."""
    kept = open_calls(world.state)
    pins = {pin.seq for pin in world.state.memory.pins}
    calls = {item.seq: {call.id for call in item.calls} | {item.call} for item in world.state.items}
    kept |= {call for seq in pins for call in calls[seq] if call}
    kept |= {call for each in calls.values() if each & kept for call in each if call}
    items = tuple(item for item in world.state.items if item.seq in pins or calls[item.seq] & kept)
    state = structs.replace(world.state, items=items, memory=structs.replace(world.state.memory, summaries=()))
    return tokens(definition.build(of, "model", state), state)


def said_in(history: Iterable[tuple[ev.AnyEvent, str]]) -> dict[int, str]:
    """The entries that brought something into the conversation, and with what: read from the events alone."""
    found: dict[int, str] = {}
    for seq, (event, _) in enumerate(history):
        if isinstance(event, ev.MessageAdded):
            found[seq] = "said"
        elif isinstance(event, ev.ModelAnswered) and event.calls:
            found[seq] = "calls"
        elif _is_result(event):
            found[seq] = "result"
    return found


def _is_result(event: ev.AnyEvent) -> bool:
    if isinstance(event, ev.RequestEnded):
        return event.outcome not in ("approved", "edited", "superseded", "failed")
    if isinstance(event, ev.ToolFailed):
        return not event.retry_at
    return isinstance(event, ev.ToolReturned | ev.CallRefused)


def every_entry_is_raw_or_in_one_summary(world: World) -> None:
    raw = {item.seq for item in world.state.items}
    for seq in said_in(world.history):
        standing = [each for each in world.state.memory.summaries if each.covers_item(seq)]
        assert len(standing) + (seq in raw) == 1, (seq, standing, seq in raw)


def summaries_are_apart_and_count_what_they_cover(world: World) -> None:
    said = said_in(world.history)
    summaries = world.state.memory.summaries
    for earlier, later in pairwise(summaries):
        assert earlier.last < later.first
    for summary in summaries:
        assert summary.count == sum(summary.covers_item(seq) for seq in said)
        assert {summary.first, summary.last} <= said.keys()


def no_call_is_parted_from_its_results(world: World) -> None:
    """Where a call is, its results are: raw with it, or in the same summary."""
    place = {item.seq: -1 for item in world.state.items}
    for summary in world.state.memory.summaries:
        place |= {seq: summary.seq for seq in said_in(world.history) if summary.covers_item(seq)}
    asked: dict[str, int] = {}
    request_of: dict[str, str] = {}
    for seq, (event, _) in enumerate(world.history):
        if isinstance(event, ev.ModelAnswered):
            asked |= dict.fromkeys((call.id for call in event.calls), seq)
        elif isinstance(event, ev.ApprovalRequested):
            request_of[event.request] = event.call
        elif seq in place and isinstance(event, KINDS_OF_ITEMS):
            call = request_of[event.request] if isinstance(event, ev.RequestEnded) else event.call
            assert place[seq] == place[asked[call]], (seq, call)


def what_must_stay_is_raw(world: World) -> None:
    raw = {item.seq for item in world.state.items}
    assert {pin.seq for pin in world.state.memory.pins} <= raw
    held = {call.id for item in world.state.items for call in item.calls}
    assert open_calls(world.state) <= held


def it_is_bounded(world: World) -> None:
    memory = world.state.memory
    assert len(world.state.items) <= max(MOST_ITEMS, _unmovable(world)) <= LONGEST
    assert len(memory.summaries) <= MOST + 1
    assert all(len(summary.text) <= LONGEST_TEXT for summary in memory.summaries)
    assert len(memory.pins) <= MOST_PINS
    assert len(memory.ratings) <= len(world.state.items)


def _unmovable(world: World) -> int:
    """Items that may not go: what waits, and what is pinned."""
    waiting = open_calls(world.state)
    return MOST_ITEMS + sum(bool({call.id for call in item.calls} & waiting) for item in world.state.items)


LAWS = (
    every_entry_is_raw_or_in_one_summary,
    summaries_are_apart_and_count_what_they_cover,
    no_call_is_parted_from_its_results,
    what_must_stay_is_raw,
    it_is_bounded,
)


def lawful(world: World) -> None:
    """Every law of memory, and that a model would be shown something well-formed."""
    for law in LAWS:
        law(world)
    told_well(definition.build(agent(), "model", world.state).messages)


def bytes_of(state: SessionState) -> int:
    """How much is stored of a state."""
    return len(to_snapshot(state))
