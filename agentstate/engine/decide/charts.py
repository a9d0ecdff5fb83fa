"""The session's chart: it is begun with the session, hears what happens in it, takes signals, and lets time pass.

What happens in a session reaches the chart as events by one table (`happening`); what the chart does with them is
recorded at the end of the same decision. The chart decides nothing about what has happened: it says what the agent is
told and may call from here on. One that does not come to rest, or whose version is gone, is stopped: the session goes
on, and what the chart forbade stays forbidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.charts import BadEvent, Chart, ChartOverrun, ChartState, Happening, Moved, start, step, tick
from agentstate.engine.charts.standing import Standing, instructions_in, prompts, tools_in
from agentstate.engine.decide.commands.automation import Signal, Wind
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.refusals import Outdated
from agentstate.engine.decide.withdrawals import WITHDRAW_CALL
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.plan.facts import BATCH
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.goals import GOALS
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.state.session import Call, SessionState
from agentstate.engine.understanding.answer import RESOLVE_REFERENCES
from agentstate.engine.wanted import ASK_FOR_PERSON
from agentstate.errors import Invalid, Refused

OWN = ("customer", "agent", "staff", "model", "call", "decision", "request", "run", "session")  # first words of HEARD
_CALLS = ("allowed", "waiting", "refused", "begun", "returned", "retried", "failed")
HEARD = (  # what `happening` tells a chart; `*` stands for the name of a tool
    *("session.failed", "session.ended", "run.rested", "model.failed", "customer.said", "agent.said", "staff.said"),
    *(f"call.{what}.*" for what in _CALLS),
    *(f"decision.{what}.*" for what in get_args(ev.DecisionKind)),
    *(f"request.{what}.*" for what in get_args(ev.Outcome) if what != "unopposed"),  # told as approved: it may go on
)
# No state forbids these: planning does nothing yet, and a customer may ask for a person at any point.
ALWAYS = frozenset({PLAN, GOALS, BATCH, ASK_FOR_PERSON, WITHDRAW_CALL, RESOLVE_REFERENCES})
MAX_WORDS = 1_000  # characters of a message that a chart may look at


class NotAwaited(Refused):
    """The session's chart waits for no such event where it stands."""

    code = "not_awaited"


class UnknownSignal(Invalid):
    """The session's chart declares no such signal."""

    code = "unknown_signal"


def not_in_this_state(state: SessionState, call: Call, context: CommandContext) -> ev.CallRefused | None:
    """Returns the refusal of a call that the chart's state does not allow, or that of a parent's; None: it is allowed.
    A chart that was stopped or has ended still forbids what it forbade then. The chart does not judge undoings that a
    person ordered.
    """
    if call.undoes >= 0 or call.tool in ALWAYS:
        return None
    charts = (state.chart, *(context.family.charts if context.family is not None else ()))
    return next((_forbidden(chart, call) for chart in charts if not _allows(chart, call)), None)


def _allows(chart: Standing, call: Call) -> bool:
    return chart.tools is None or call.tool in chart.tools


def _forbidden(chart: Standing, call: Call) -> ev.CallRefused:
    here = ", ".join(chart.inside.configuration) if chart.inside is not None else ""
    return ev.CallRefused(call.id, "not_in_this_state", f"{call.tool} may not be called in: {here}")


@command_handler(Signal)
def signalled(command: Signal, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The move that a signal makes. Raises UnknownSignal, NotAwaited, BadEvent: then nothing has changed."""
    must_live(state)
    chart = _chart_of(state, context)
    if chart is None or state.chart.inside is None:
        raise NotAwaited("this session has no chart that is running")
    if command.name not in chart.events or command.name.split(".")[0] in OWN:
        declared = [name for name in chart.events if name.split(".")[0] not in OWN]
        raise UnknownSignal(f"got {command.name!r:.200}, want one of {declared}", field="name")
    heard = Happening(command.name, command.data)
    after, moved = step(chart, state.chart.inside, heard, outside(state), stamp(context.at))
    if not moved.handled:
        here = ", ".join(state.chart.inside.configuration)
        raise NotAwaited(f"{command.name} is not possible in: {here}", rule="no_transition")
    return [_told(state, chart, after, moved, command.name, by=command.by, data=command.data)]


@command_handler(Wind)
def wound(command: Wind, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What the timers that are due do. Raises Outdated when none is."""
    must_live(state)
    moved = overdue(state, context)
    if not moved:
        raise Outdated("no timer of the chart is due")
    return moved


def overdue(state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The move that the timers which are due lead to; empty when none is, or the session has ended."""
    at = stamp(context.at)
    if state.ended or not state.chart.due or state.chart.due > at:
        return []
    chart = _chart_of(state, context)
    if chart is None or state.chart.inside is None:
        return [_stopped(state, "timer", "its version is not here any more")]
    try:
        after, moved = tick(chart, state.chart.inside, outside(state), at)
    except Refused as error:
        return [_stopped(state, "timer", str(error))]
    return [_told(state, chart, after, moved, "timer")]


def followed(events: Sequence[ev.AnyEvent], state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """`events` and after them the moves of the chart that they lead to."""
    if not events or (context.chart is None and state.chart.inside is None):
        return list(events)
    at = stamp(context.at)
    then = state
    for event in events:
        then = evolve(then, event, at)
    if state.opened is None or (then.ended and state.ended) or then.sealed:
        return list(events)  # the opening is an entry of its own: the chart begins with what comes next
    return [*events, *_moves(_since_put_back(events), then, context)]


def _moves(events: Sequence[ev.AnyEvent], state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    moves: list[ev.AnyEvent] = []
    at = stamp(context.at)
    if state.chart.inside is None and context.chart is not None:
        moves.append(_begun(context.chart, state, at))
        state = evolve(state, moves[-1], at)
    for event in events:
        heard = happening(event, state)
        if heard is not None and state.chart.moves:
            moved = _heard(heard, state, context, at)
            if moved is not None:
                moves.append(moved)
                state = evolve(state, moved, at)
    return moves


def _since_put_back(events: Sequence[ev.AnyEvent]) -> Sequence[ev.AnyEvent]:
    """What happened before the session was put back is none of the chart's that stands there again."""
    back = [n for n, event in enumerate(events) if isinstance(event, ev.SessionRolledBack | ev.SessionForked)]
    return events[back[-1] + 1 :] if back else events


def _begun(chart: Chart, state: SessionState, at: str) -> ev.ChartMoved:
    try:
        after, moved = start(chart, outside(state), at, "session")
    except Refused as error:
        return ev.ChartMoved(chart.reference, "", ev.Shift(), ChartState(chart.reference), stopped=str(error))
    return _told(state, chart, after, moved, "")


def _heard(heard: Happening, state: SessionState, context: CommandContext, at: str) -> ev.ChartMoved | None:
    """The move on one happening, or None when it changes nothing."""
    chart = _chart_of(state, context)
    if chart is None or state.chart.inside is None:
        return _stopped(state, heard.name, "its version is not here any more")
    try:
        after, moved = step(chart, state.chart.inside, heard, outside(state), at)
    except (BadEvent, ChartOverrun) as error:
        return _stopped(state, heard.name, str(error))
    return _told(state, chart, after, moved, heard.name) if moved.anything or moved.errors else None


def _chart_of(state: SessionState, context: CommandContext) -> Chart | None:
    """The chart that the session runs, in the version that it was begun with."""
    return context.charts.get(state.chart.inside.chart) if state.chart.moves and state.chart.inside else None


def _told(
    state: SessionState, chart: Chart, after: ChartState, moved: Moved, event: str, by: str = "", data: Any = None
) -> ev.ChartMoved:
    tools = tools_in(chart, after.configuration)
    if tools is None and not after.running:  # an end allows only what its state names
        tools = state.chart.tools
    return ev.ChartMoved(
        chart=chart.reference,
        event=event,
        shift=ev.Shift(
            exited=moved.exited,
            entered=moved.entered,
            taken=moved.taken,
            timers_set=moved.timers_set,
            timers_cancelled=moved.timers_cancelled,
            logs=moved.logs,
            errors=moved.errors,
        ),
        after=replace(after, data={}),
        changed=moved.changed,
        instructions=instructions_in(chart, after.configuration),
        tools=tools,
        prompt=prompts(chart, moved.entered),
        by=by,
        data=data,
    )


def _stopped(state: SessionState, event: str, why: str) -> ev.ChartMoved:
    """The chart stays where it is and runs no more. What it forbids stays forbidden: nothing has allowed it. What it
    allows while a timer runs it allows no longer: nothing would end that.
    """
    inside = state.chart.inside
    assert inside is not None
    return ev.ChartMoved(
        chart=inside.chart,
        event=event,
        shift=ev.Shift(),
        after=replace(inside, data={}, timers=()),
        tools=() if state.chart.due and state.chart.tools else state.chart.tools,
        stopped=why[:500],
    )


def outside(state: SessionState) -> dict[str, Any]:
    """What a chart may read of its session, if it declares so."""
    opened = state.opened
    return {
        "state": state.pad,
        "history": {"refusals": state.refusals, "calls": state.proposed, "messages": state.messages},
        "session": {"agent": opened.agent, "channel": opened.channel} if opened else {},
    }


def happening(event: ev.AnyEvent, state: SessionState) -> Happening | None:
    """What a chart hears of an event, as HEARD lists it. `state` is the one after the event."""
    match event:
        case ev.MessageAdded(role="customer" | "agent" | "staff" as role, text=text):
            return Happening(f"{role}.said", {"text": text[:MAX_WORDS]})
        case ev.ModelFailed(retry_at=retry_at):
            return Happening("model.failed", {"again": bool(retry_at)})
        case ev.RunRested(waiting_for=waiting_for):
            return Happening("run.rested", {"waiting_for": waiting_for})
        case ev.SessionFailed():
            return Happening("session.failed")
        case ev.SessionEnded() | ev.SessionCancelled():
            return Happening("session.ended")
        case ev.DecisionMade(request=request, decision=decision):
            return _of_request(state, request, f"decision.{decision}", {"tier": event.tier})
        case ev.RequestEnded(request=request, outcome=outcome):
            heard = "approved" if outcome == "unopposed" else outcome
            return _of_request(state, request, f"request.{heard}", {})
    return _of_call(event, state)


def _of_request(state: SessionState, request: str, name: str, data: Mapping[str, Any]) -> Happening | None:
    found = state.requests.get(request)
    if found is None or found.kid:  # what concerns another data subject is no part of this conversation
        return None
    return Happening(f"{name}.{found.asked.tool}", {"request": request, **data})


def _of_call(event: ev.AnyEvent, state: SessionState) -> Happening | None:
    match event:
        case ev.CallAllowed(tier=tier, rule=rule):
            what, data = "allowed", {"tier": tier, "rule": rule}
        case ev.ApprovalRequested(tier=tier, rule=rule):
            what, data = "waiting", {"tier": tier, "rule": rule}
        case ev.CallRefused(code=code):
            what, data = "refused", {"code": code}
        case ev.ToolIntended(attempt=attempt):
            what, data = "begun", {"attempt": attempt}
        case ev.ToolReturned(attempt=attempt):
            what, data = "returned", {"attempt": attempt}
        case ev.ToolFailed(attempt=attempt, retry_at=retry_at):
            what, data = "retried" if retry_at else "failed", {"attempt": attempt}
        case _:
            return None
    call = state.calls.get(event.call)
    if call is None or call.kid:
        return None
    return Happening(f"call.{what}.{call.tool}", {"call": event.call, **data})
