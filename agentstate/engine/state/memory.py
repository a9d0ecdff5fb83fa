"""What events change in the memory of the conversation: pins, ratings, summaries, and what the provider counted.

A function an event, named like it; `recollected` follows every event, since many add to the conversation.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import LONGEST
from agentstate.engine.handlers import event_handler
from agentstate.engine.lifecycle import CALL_ENDED
from agentstate.engine.looping.held import used
from agentstate.engine.memory import correction, pins, recollect
from agentstate.engine.memory.held import Wanted
from agentstate.engine.memory.summaries import Summary
from agentstate.engine.state.session import SessionState


def open_calls(state: SessionState) -> frozenset[str]:
    """Ids of the calls that have not ended: they wait for a person, or are about to run."""
    return frozenset(call.id for call in state.calls.values() if call.status not in CALL_ENDED)


def recollected(before: SessionState, after: SessionState, event: ev.AnyEvent, at: str) -> SessionState:
    """`after`, with what `event` brought into the conversation dated, and what a model answered counted."""
    if isinstance(event, ev.ModelAnswered):
        after = _counted(after, event)
    if len(after.items) <= len(before.items):
        return after
    items, memory = recollect.heard(after.items, after.memory, at)
    if len(items) > LONGEST:
        items, memory = recollect.let_go(items, memory, open_calls(after))
    return replace(after, items=items, memory=memory)


def _counted(state: SessionState, event: ev.ModelAnswered) -> SessionState:
    memory = state.memory
    learned = correction.learned(memory.corrections, memory.asked_model, memory.estimated, event.input_tokens)
    return replace(state, memory=replace(memory, corrections=learned, estimated=0))


@event_handler(ev.ItemPinned)
def item_pinned(state: SessionState, event: ev.ItemPinned, at: str) -> SessionState:
    pin = pins.Pin(event.seq, event.how, event.by, at, event.why)
    return replace(state, memory=replace(state.memory, pins=pins.with_pin(state.memory.pins, pin)))


@event_handler(ev.ItemUnpinned)
def item_unpinned(state: SessionState, event: ev.ItemUnpinned, at: str) -> SessionState:
    return replace(state, memory=replace(state.memory, pins=pins.without(state.memory.pins, event.seq)))


@event_handler(ev.ItemRated)
def item_rated(state: SessionState, event: ev.ItemRated, at: str) -> SessionState:
    return replace(state, memory=recollect.rated(state.memory, event.seq, event.rating))


@event_handler(ev.SummaryRequested)
def summary_requested(state: SessionState, event: ev.SummaryRequested, at: str) -> SessionState:
    wanted = Wanted(
        event.step,
        event.model,
        event.first,
        event.last,
        event.kept,
        event.replaces,
        event.count,
        event.covers,
        event.limit,
    )
    return replace(state, memory=replace(state.memory, wanted=wanted))


@event_handler(ev.SummaryMade)
def summary_made(state: SessionState, event: ev.SummaryMade, at: str) -> SessionState:
    summary = Summary(
        state.seq, event.first, event.last, event.kept, event.count, event.covers, event.method, event.text
    )
    items, memory = recollect.summarised(state.items, state.memory, summary)
    return replace(state, items=items, memory=memory, loop=used(state.loop, event.input_tokens + event.output_tokens))
