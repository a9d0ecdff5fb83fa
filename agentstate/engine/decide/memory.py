"""The memory of a conversation: what people pin and rate, which summaries a request needs, and what rules pin by
themselves.

An item leaves the state by a summary only, so whatever command makes a session hold too much also makes the summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentstate.engine import events as ev
from agentstate.engine.conversation import MOST_ITEMS, Item, ItemCall
from agentstate.engine.decide.commands.conversation import Fit, GiveUp, Pin, Rate, Summarise, Unpin
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.refusals import Outdated
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.memory.asking import summary_request
from agentstate.engine.memory.budget import crowded_covers, next_covers
from agentstate.engine.memory.context import FORM
from agentstate.engine.memory.correction import factor_for
from agentstate.engine.memory.cover import Cover
from agentstate.engine.memory.groups import grouped
from agentstate.engine.memory.held import Wanted
from agentstate.engine.memory.importance import Rule, matches
from agentstate.engine.memory.pins import MOST_PINS, NotHeld, NotPinned, TooManyPins
from agentstate.engine.memory.pins import Pin as Kept
from agentstate.engine.memory.recollect import named
from agentstate.engine.memory.scene import Scene
from agentstate.engine.memory.shown import request_digest
from agentstate.engine.memory.summaries import LONGEST_TEXT, written
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.memory import open_calls
from agentstate.engine.state.rounds import private_places
from agentstate.engine.state.session import SessionState
from agentstate.errors import Broken, Invalid, Refused

BY_RULES = "rules/1"
ROUNDS = 100  # summaries that one request may need: far more than there are groups to cover
MOST_WHY = 500  # characters of a reason


class BeingSummarised(Refused):
    """A model is summarising this message just now."""

    code = "being_summarised"
    remedy = "Read the summary when it is there; the words stay in the ledger."


def scene_of(state: SessionState, context: CommandContext, model: str = "") -> Scene:
    """The conversation as it stands, under the settings in force."""
    return Scene(
        state.items,
        state.memory,
        context.memory,
        context.counter,
        stamp(context.at),
        open_calls(state),
        state.pad,
        factor_for(state.memory.corrections, model),
        state.plans.plan.calls if state.plans.is_open else (),
        state.plans.own.outcomes,
        private_places(state.plans, context.memory.private),
    )


@command_handler(Pin)
def pinned(command: Pin, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The pin. An item that is pinned already is pinned for the newer reason."""
    must_live(state)
    _reasonable(command.why)
    _must_hold(state, command.seq)
    if state.memory.wanted is not None and _is_wanted(state.memory.wanted, command.seq):
        raise BeingSummarised(f"entry {command.seq}")
    if not state.memory.pinned(command.seq) and len(state.memory.pins) >= MOST_PINS:
        raise TooManyPins(f"got {MOST_PINS} pins")
    return [ev.ItemPinned(command.seq, "person", command.by, command.why)]


@command_handler(Unpin)
def unpinned(command: Unpin, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The end of a pin."""
    must_live(state)
    _reasonable(command.why)
    if not state.memory.pinned(command.seq):
        raise NotPinned(f"entry {command.seq}")
    return [ev.ItemUnpinned(command.seq, command.by, command.why)]


@command_handler(Rate)
def rated(command: Rate, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What somebody made of a message."""
    must_live(state)
    _reasonable(command.why)
    if not -2 <= command.rating <= 2:
        raise Invalid(f"got {command.rating}, want -2 to 2", field="rating")
    _must_hold(state, command.seq)
    return [ev.ItemRated(command.seq, command.rating, command.by, command.why)]


def _must_hold(state: SessionState, seq: int) -> None:
    if all(item.seq != seq for item in state.items):
        raise NotHeld(f"entry {seq}")


def _reasonable(why: str) -> None:
    if len(why) > MOST_WHY:
        raise Invalid(f"got {len(why)} characters, at most {MOST_WHY}", field="why")


def _is_wanted(wanted: Wanted, seq: int) -> bool:
    return wanted.first <= seq <= wanted.last and seq not in wanted.kept


@command_handler(Fit)
def fitted(command: Fit, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The summaries without which the request would be too long, or the request for one. Raises ContextTooSmall."""
    must_live(state)
    if state.memory.wanted is not None:  # its answer was lost: asked again, under a step of its own
        return [_request(state, context, command, state.memory.wanted)]
    made: list[ev.AnyEvent] = []
    for _ in range(ROUNDS):
        counted = command.frame.conversation(state.seq)
        covers = next_covers(scene_of(state, context, command.model), command.frame, counted)
        if not covers:
            return made
        by_model = command.step and context.memory.summaries == "model" and covers[-1].groups
        for cover in covers[:-1] if by_model else covers:
            made.append(_made(cover, scene_of(state, context)))
            state = evolve(state, made[-1], stamp(context.at))
        if by_model:
            return [*made, _request(state, context, command, _wanted(covers[-1], command))]
    raise Broken(f"after {ROUNDS} summaries the request is still too long")


def _made(cover: Cover, scene: Scene) -> ev.SummaryMade:
    replaces = tuple(each.seq for each in cover.replaced)
    return ev.SummaryMade(
        cover.first, cover.last, cover.kept, replaces, cover.count, cover.covers, BY_RULES, cover.text(scene)
    )


def _wanted(cover: Cover, command: Fit) -> Wanted:
    replaces = tuple(each.seq for each in cover.replaced)
    return Wanted(
        command.step,
        command.model,
        cover.first,
        cover.last,
        cover.kept,
        replaces,
        cover.count,
        cover.covers,
        cover.limit,
    )


def _request(state: SessionState, context: CommandContext, command: Fit, wanted: Wanted) -> ev.SummaryRequested:
    replaced = named(state.memory, wanted.replaces)
    private = private_places(state.plans, context.memory.private)
    request = summary_request(command.model, wanted_items(state, wanted), replaced, private, wanted.limit)
    return ev.SummaryRequested(
        command.step,
        command.model,
        wanted.first,
        wanted.last,
        wanted.kept,
        wanted.replaces,
        wanted.count,
        wanted.covers,
        wanted.limit,
        request_digest(request),
        FORM,
        command.definition,
    )


def wanted_items(state: SessionState, wanted: Wanted) -> tuple[Item, ...]:
    """The raw items that an open request for a summary is to cover."""
    return tuple(item for item in state.items if _is_wanted(wanted, item.seq))


@command_handler(Summarise)
def summarised(command: Summarise, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The model's summary, or one by rules where it gave none that can be used."""
    must_live(state)
    wanted = state.memory.wanted
    if wanted is None or wanted.step != command.step:
        raise Outdated(f"summary request {command.step} is not open")
    text = _in_lines(command.text, wanted)
    method, because = f"model:{wanted.model}", ""
    if not text or context.counter.count(text) > wanted.limit:
        text = _by_rules(state, context, wanted)
        method, because = BY_RULES, command.because or "the model's summary could not be used"
    return [
        ev.SummaryMade(
            wanted.first,
            wanted.last,
            wanted.kept,
            wanted.replaces,
            wanted.count,
            wanted.covers,
            method,
            text,
            wanted.step,
            because[:MOST_WHY],
            command.input_tokens,
            command.output_tokens,
        )
    ]


def _in_lines(text: str, wanted: Wanted) -> str:
    """What the model wrote, each line under the entry where its range begins: so it can be joined to others."""
    told = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(f"{wanted.first} summary: {line}" for line in told if line)[:LONGEST_TEXT]


def _by_rules(state: SessionState, context: CommandContext, wanted: Wanted) -> str:
    groups = grouped(wanted_items(state, wanted))
    private = private_places(state.plans, context.memory.private)
    return written(groups, named(state.memory, wanted.replaces), private, context.counter, wanted.limit)


@command_handler(GiveUp)
def given_up(command: GiveUp, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The agent cannot go on by itself."""
    must_live(state)
    return [ev.SessionFailed(command.reason[: 2 * MOST_WHY])]


def attended(events: list[ev.AnyEvent], state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """`events`, with the pins that rules set on what they bring, and a summary when too much is held."""
    events = [*events, *_rule_pins(events, state, context)]
    if len(state.items) + len(events) <= MOST_ITEMS:
        return events
    for event in events:
        state = evolve(state, event, stamp(context.at))
    while not state.ended and (covers := crowded_covers(scene_of(state, context), MOST_ITEMS)):
        for cover in covers:
            events.append(_made(cover, scene_of(state, context)))
            state = evolve(state, events[-1], stamp(context.at))
    return events


def _rule_pins(events: Sequence[ev.AnyEvent], state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    pinning = [rule for rule in context.memory.rules if rule.pin]
    if not pinning:
        return []
    found = [(item, rule) for item in _brought(events, state.seq) for rule in pinning if matches(rule, item)]
    pins = list(state.memory.pins)
    made: list[ev.AnyEvent] = []
    for item, rule in found:
        if len(pins) >= MOST_PINS:
            eldest = next((pin for pin in pins if pin.how != "person"), None)
            if eldest is None:
                break
            pins.remove(eldest)
            made.append(ev.ItemUnpinned(eldest.seq, f"rule:{rule.name}", "a newer one took its place"))
        pins.append(_pin(item, rule))
        made.append(ev.ItemPinned(item.seq, pins[-1].how, pins[-1].by))
    return made


def _pin(item: Item, rule: Rule) -> Kept:
    return Kept(item.seq, "agent" if rule.pin == "agent" else "rule", f"rule:{rule.name}")


def _brought(events: Iterable[ev.AnyEvent], seq: int) -> Iterable[Item]:
    """What `events`, the first of which will be entry `seq`, say and propose."""
    for number, event in enumerate(events, seq):
        if isinstance(event, ev.MessageAdded):
            yield Item(number, event.role, event.text, event.by)
        elif isinstance(event, ev.ModelAnswered) and event.calls:
            calls = tuple(ItemCall(call.id, call.tool, call.arguments, call.output_path) for call in event.calls)
            yield Item(number, "agent", "", event.model, calls=calls)
