"""The bounds of the loop: when a run is stopped and by which name, what a person grants, when a circle is told, and
what becomes of a message that arrives while the agent works.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide import fatigue
from agentstate.engine.decide.commands.runs import Grant, Notice
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.refusals import TooManyWaiting
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.looping.circles import circle
from agentstate.engine.looping.held import MOST_WAITING, Loop, Used, circling_anew, plus, tighter, too_often
from agentstate.engine.looping.settings import REPAIRS, Limits, Looping
from agentstate.engine.state.runs import seconds
from agentstate.engine.state.session import SessionState, calls_in
from agentstate.errors import Invalid, NotFound, Refused

MAX_REASON = 500  # characters
Of = Literal["run", "session"]
Bound = tuple[ev.StopCode, int, int, str]  # code, used, limit, in words


def stop(state: SessionState, model: str, context: CommandContext) -> ev.RunStopped | None:
    """Why the model is not to be asked again: the first bound that is reached, or None."""
    going = bool(state.run) or state.loop.granting
    for of, (code, used, limit, words) in _reached(state.loop, stamp(context.at), model, context, going):
        return ev.RunStopped(state.run, code, of, used, limit, words)
    return None


def _reached(loop: Loop, at: str, model: str, context: CommandContext, going: bool) -> Iterator[tuple[Of, Bound]]:
    if loop.noticed and loop.marks and loop.marks[-1] in loop.noticed:
        yield "run", ("circle", 1, 0, "the agent goes in circles: it did again what it was told leads nowhere")
    if loop.latest and loop.latest in loop.overused:
        count = loop.by_tool[loop.latest]
        yield "run", ("circle", count, context.loop.same_tool, f"it called {loop.latest} {count} times")
    if going and loop.misfits > REPAIRS:
        words = f"its output broke the schema {loop.misfits} times"
        yield "run", ("output", loop.misfits, REPAIRS, words)
    bounds = context.loop
    if (bounds.run.micros or bounds.session.micros or loop.share.micros) and model not in context.prices:
        yield "run", ("no_price", 0, 0, f"money is bounded, and the model {model[:100]!r} has no price")
    if going:
        run = loop.run
        took = 0 if loop.granting else seconds(loop, at)
        yield from (("run", each) for each in _over(bounds.run, loop.granted, run, took))
    session = loop.session
    took = loop.seconds + (seconds(loop, at) if going else 0)
    over = _over(tighter(bounds.session, loop.share), loop.granted_session, session, took)
    yield from (("session", each) for each in over)


def _over(base: Limits, granted: Limits, used: Used, took: int) -> Iterator[Bound]:
    """The bounds that are used up; 0 bounds nothing, whatever was granted on top."""
    limit = plus(base, granted)
    if base.tokens and used.tokens >= limit.tokens:
        yield "tokens", used.tokens, limit.tokens, f"it used up its {limit.tokens} tokens"
    if base.micros and used.micros >= limit.micros:
        yield "money", used.micros, limit.micros, f"it used up its money, {limit.micros} millionths"
    if base.steps and used.steps >= limit.steps:
        yield "steps", used.steps, limit.steps, f"it used up its {limit.steps} model requests"
    if base.calls and used.calls >= limit.calls:
        yield "calls", used.calls, limit.calls, f"it proposed {used.calls} calls, of {limit.calls} that it may"
    if base.seconds and took >= limit.seconds:
        yield "time", took, limit.seconds, f"it used up its {limit.seconds} seconds"


@command_handler(Grant)
def granted(command: Grant, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """More for the run or the session. Raises NotFound, SessionOver, Invalid when it would be stopped again at once."""
    if state.opened is None:
        raise NotFound("there is no such session")
    more, loop = command.more, state.loop
    reason = command.reason.strip()
    if not reason or len(reason) > MAX_REASON:
        raise Invalid(f"want 1 to {MAX_REASON} characters", field="reason")
    tired = fatigue.is_tired(state, context)
    if more == Limits() and not loop.stopped and not tired:
        raise Invalid("nothing is granted, and the run was not stopped", field="tokens")
    if command.of == "run" and not (state.run or loop.stopped or tired):
        raise Refused("no run is under way to be granted more: grant it to the session")
    _must_be_enough(command, state, context)
    more_of = (more.tokens, more.micros, more.steps, more.seconds, more.calls)
    pardoned = fatigue.rejections(state, context) if tired else 0
    return [ev.RunGranted(command.by, reason, command.of, loop.stopped, *more_of, pardoned)]


def _must_be_enough(command: Grant, state: SessionState, context: CommandContext) -> None:
    """Raises Invalid: a run that goes on only to be stopped by the same bound is no answer to it."""
    loop = state.loop
    if not loop.stopped:
        return
    name = "granted" if command.of == "run" else "granted_session"
    after = replace(circling_anew(loop), **{name: plus(getattr(loop, name), command.more)}, misfits=0, granting=True)
    model = state.memory.asked_model
    for of, (code, used, limit, words) in _reached(after, stamp(context.at), model, context, going=True):
        raise Invalid(f"that is not enough: {words} ({of})", field=_FIELDS.get(code, "of"), used=used, limit=limit)


_FIELDS = {"tokens": "tokens", "money": "micros", "steps": "steps", "calls": "calls", "time": "seconds"}


@command_handler(Notice)
def noticed(command: Notice, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The model is told, once, that what it does leads nowhere."""
    if state.asking:
        return []
    found = circle(state.loop.marks, context.loop.repeats)
    if not found:
        return _overuse(state, context)
    tools = tuple(item.by for item in [item for item in state.items if item.role == "tool"][-len(found) :])
    times = context.loop.repeats
    what = " and ".join(dict.fromkeys(tools)) or "the same call"
    note = (
        f"You have called {what} {times} times with the same arguments, and the result was the same each time. It will"
        " not change by calling again. Do something else, ask the customer, or say that you cannot go on."
    )
    return [ev.CircleNoticed(state.run, tools, times, found, note)]


def is_circling(loop: Loop, bounds: Looping) -> bool:
    """Whether the model is to be told that what it does leads nowhere."""
    return bool(circle(loop.marks, bounds.repeats) or too_often(loop, bounds.same_tool))


def _overuse(state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What the model is told when it called one tool too often in this run, whatever the arguments."""
    tool = too_often(state.loop, context.loop.same_tool)
    if not tool:
        return []
    times = state.loop.by_tool[tool]
    note = (
        f"You have called {tool} {times} times since the customer spoke. Do not call it again now. Tell the customer"
        " what you have, ask them, or say that you cannot go on."
    )
    return [ev.CircleNoticed(state.run, (tool,), times, (), note)]


def meanwhile(text: str, by: str, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What becomes of words of the customer while a run is under way, by the agent's setting; `rollback` is the
    session's and is decided where the older state is at hand. Raises TooManyWaiting.
    """
    match context.loop.meanwhile:
        case "enqueue":
            if len(state.loop.waiting) >= MOST_WAITING:
                raise TooManyWaiting(f"{MOST_WAITING} messages wait already")
            return [ev.MessageQueued(text, by, state.run)]
        case "reject":
            return [ev.MessageRefused(text, by, state.run)]
        case "interrupt":
            return [_interrupted(state), ev.MessageAdded("customer", text, by)]
        case _:
            return [ev.MessageAdded("customer", text, by)]


def _interrupted(state: SessionState) -> ev.RunInterrupted:
    """What has not begun is withdrawn, but for what a person let through and what belongs to a plan."""
    ready = (call.id for call in calls_in(state, CallStatus.READY) if not call.approved and not call.round)
    return ev.RunInterrupted(state.run, state.asking, tuple(ready))


def heard_now(state: SessionState) -> list[ev.AnyEvent]:
    """The messages that waited, in their order, now that no run is under way."""
    return [ev.MessageAdded("customer", each.text, each.by, each.seq) for each in state.loop.waiting]
