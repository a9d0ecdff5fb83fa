"""Families: a session and its delegates, at any depth.

What people refused, what was set going today, what the charts of the parents forbid and the values that rules read hold
in each of them. The session above all others keeps the record.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.plans import CountDelegate, EndDelegate, OpenDelegate
from agentstate.engine.decide.context import CommandContext, Family
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.refusals import FamilyFull
from agentstate.engine.handlers import command_handler
from agentstate.engine.looping.held import Loop, Used
from agentstate.engine.looping.settings import Looping
from agentstate.engine.remembered import Remembered, gained, with_gain
from agentstate.engine.state.rounds import delegate_of
from agentstate.engine.state.session import Call, SessionState, remembered_by, remembering


def in_family(state: SessionState, context: CommandContext) -> SessionState:
    """Returns the state with all that binds it: a delegate is judged as if it did its calls in its parent."""
    family = context.family
    if family is None:
        return state
    return replace(remembering(state, family.remembered), pad=laid_over(family.pad, state.pad))


def laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Returns `below` with every value of `above` written into it, object by object."""
    found = dict(below)
    for name, value in above.items():
        held = found.get(name)
        found[name] = laid_over(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return found


def family_of(above: tuple[SessionState, ...], strangers: tuple[SessionState, ...]) -> Family:
    """What binds a delegate: of the sessions `above` it, the nearest first, and of `strangers`, which are above them
    and of another data subject.
    """
    pad: dict[str, Any] = {}
    for state in reversed(above):
        pad = laid_over(pad, state.pad)
    top = (*above, *strangers)[-1:]
    charts = tuple(state.chart for state in (*above, *strangers) if state.chart.tools is not None)
    remembered = remembered_by(above[-1]) if above else Remembered()
    return Family(charts, pad, remembered, top[0].loop if top else Loop())


def news(before: SessionState, after: SessionState) -> Remembered:
    """Returns what a delegate's family is to know of what happened in it between two states."""
    return gained(remembered_by(before), remembered_by(after)) if before.plans.parent else Remembered()


def counted(context: CommandContext, before: SessionState, after: SessionState) -> CommandContext:
    """The context with what the delegate itself has added to the sums of its family, in the same commit."""
    family = context.family
    if family is None or (found := news(before, after)) == Remembered():
        return context
    return replace(context, family=replace(family, remembered=with_gain(family.remembered, found)))


def must_have_room(loop: Loop, bounds: Looping) -> None:
    """Raises FamilyFull where the session above all others, with this loop, may open no delegate more."""
    most, running = bounds.delegates, len(loop.shares)
    if loop.opened >= most.opened:
        raise FamilyFull(f"{loop.opened} of {most.opened} delegates were opened already")
    if running >= most.at_once:
        raise FamilyFull(f"{running} of {most.at_once} delegates are at work")
    left = _left(loop, bounds)
    if any(limit and rest < 1 for limit, rest in left):
        raise FamilyFull("too little is left of its tokens, money or model requests")


def share_of(loop: Loop, bounds: Looping) -> Used:
    """Returns what the next delegate may use: an equal part of what is left, with one part for each delegate that may
    still be opened beside it and one for the session itself. 0 where nothing is bounded.
    """
    parts = bounds.delegates.at_once - len(loop.shares) + 1
    tokens, micros, steps = (max(1, rest // parts) if limit else 0 for limit, rest in _left(loop, bounds))
    return Used(tokens, micros, steps)


def _left(loop: Loop, bounds: Looping) -> list[tuple[int, int]]:
    """(bound, what is left of it) of tokens, money and model requests: of the run or the session, the less; a bound of
    0 is none.
    """
    found = []
    for name in ("tokens", "micros", "steps"):
        pairs = [
            (getattr(bounds.run, name), getattr(loop.granted, name), getattr(loop.run, name)),
            (getattr(bounds.session, name), getattr(loop.granted_session, name), getattr(loop.session, name)),
        ]
        left = [(base, base + more - used) for base, more, used in pairs if base]
        found.append(min(left, key=lambda each: each[1], default=(0, 0)))
    return found


def without_room(state: SessionState, call: Call, context: CommandContext) -> ev.CallRefused | None:
    """The refusal of a call with a delegate where the family may open no other session; None: it may, or none is
    asked for.
    """
    if not delegate_of(state.plans, call.id):
        return None
    try:
        must_have_room(state.loop if context.family is None else context.family.loop, context.loop)
    except FamilyFull as full:
        return ev.CallRefused(call.id, full.code, str(full))
    return None


@command_handler(OpenDelegate)
def delegate_opened(command: OpenDelegate, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The share of a delegate's delegate. Raises FamilyFull."""
    must_live(state)
    return [opening(command.session, state, context)]


def opening(session: str, state: SessionState, context: CommandContext) -> ev.DelegateOpened:
    """The reservation for a delegate in the session above all others. Raises FamilyFull."""
    must_have_room(state.loop, context.loop)
    return ev.DelegateOpened(session, share_of(state.loop, context.loop), state.run)


@command_handler(EndDelegate)
def delegate_ended(command: EndDelegate, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What a delegate has used, in place of its share. Nothing where that is known, or it had none."""
    if command.session not in state.loop.shares:
        return []
    return [ev.DelegateEnded(command.session, command.tokens, command.micros, command.steps, command.calls)]


@command_handler(CountDelegate)
def delegate_counted(command: CountDelegate, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What one of the session's delegates has set going, or people have refused in it."""
    return [ev.DelegateCounted(command.session, command.remembered)]
