"""People of the house in a session: who has it, who may speak, what the agent is told, who is to see to what.

While a person has it the agent is silent: its model is not asked, nothing of its own begins, and an answer that was
under way is dropped when it arrives. What runs may return. What was approved before and has not begun is asked about
again, and what another person then lets through runs. All of it is ordered
by the log: a message that was committed before the take-over was sent, one that comes after it never is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from agentstate.engine import events as ev
from agentstate.engine.decide import speech
from agentstate.engine.decide.commands.runs import Answer, NoAnswer
from agentstate.engine.decide.commands.supervision import (
    AskForPerson,
    Assign,
    BargeIn,
    HandBack,
    NoPersonNeeded,
    PassOn,
    Speak,
    TakeOver,
    Whisper,
)
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live, worded
from agentstate.engine.decide.gates import approval_request, by_people
from agentstate.engine.decide.holds import waits_again
from agentstate.engine.decide.refusals import (
    ForkMaySayNothing,
    HasChanged,
    NoPersonWanted,
    NotConsistent,
    NotTakenOver,
    TakenByAnother,
    UnknownRequest,
)
from agentstate.engine.decide.schema import unfit
from agentstate.engine.decide.verdicts import policy_on
from agentstate.engine.decide.withdrawals import ended_with
from agentstate.engine.handing_back import LONGEST, OPENING
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.participants import QUEUE
from agentstate.engine.state.session import SessionState, calls_in, pending
from agentstate.engine.wanted import ASK_FOR_PERSON, phrase_heard
from agentstate.errors import Invalid

MOST_REASONS = 8
TAKEN_OVER = "A person took over the conversation since it was approved, so another person must release it."


@command_handler(TakeOver)
def taken_over(command: TakeOver, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Nothing when they have it already. Raises SessionOver, ForkMaySayNothing, TakenByAnother unless `holder` names
    them.
    """
    must_live(state)
    if state.versions.is_draft:
        raise ForkMaySayNothing()
    if state.taken_by == command.by:
        return []
    held = "" if state.taken_by == QUEUE else state.taken_by
    if held and held != command.holder:
        raise TakenByAnother(by=held, since=state.desk.taken_at)
    reopened: list[ev.AnyEvent] = [ev.SessionReopened(command.by)] if state.expired_at else []
    taken = ev.SessionTakenOver(command.by, command.reason, held)
    then = evolve(state, taken, stamp(context.at))
    unsaid = speech.withdrawn(then, command.by)
    return [*reopened, taken, *unsaid, *_paused(ended_with(then, unsaid), command.by, context)]


def _paused(state: SessionState, by: str, context: CommandContext) -> Iterator[ev.AnyEvent]:
    """Makes approved calls that have not begun wait for another person: delayed calls are undone, the others are asked
    about again. The person who took the session over may not approve them.
    """
    for request in pending(state):
        if request.held_until:
            yield waits_again(request, state, by, TAKEN_OVER, "", context)
    for call in calls_in(state, CallStatus.READY):
        facts = speech.facts_of(call.tool, state, context)
        if call.approved and not call.attempt and facts is not None:
            verdict, _ = policy_on(state, call, facts, context)
            yield approval_request(
                state, call, facts, by_people(verdict), context, because=TAKEN_OVER, supersedes=call.request
            )


@command_handler(PassOn)
def passed_on(command: PassOn, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Raises SessionOver, NotTakenOver, HasChanged when somebody else has it by now."""
    must_live(state)
    if not state.taken_by:
        raise NotTakenOver()
    if state.taken_by != command.holder:
        raise HasChanged(by=state.taken_by)
    if command.to == command.holder:
        return []
    return [ev.SessionPassedOn(command.to, command.holder, command.reason, command.by)]


@command_handler(Speak)
def spoken(command: Speak, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Raises SessionOver, NotTakenOver, TakenByAnother, Invalid."""
    _must_have_it(state, command.by)
    return [ev.MessageAdded("staff", worded(command.text), command.by)]


@command_handler(BargeIn)
def barged_in(command: BargeIn, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The agent keeps the session. An answer that its model is giving does not know what was said, so it is dropped,
    and the model is asked again. Raises SessionOver, ForkMaySayNothing, TakenByAnother where somebody has it.
    """
    must_live(state)
    if state.versions.is_draft:
        raise ForkMaySayNothing()
    if state.taken_by and state.taken_by != command.by:
        raise TakenByAnother(by=state.taken_by, since=state.desk.taken_at)
    under_way: list[ev.AnyEvent] = [ev.ModelDropped(state.asking, "spoken_over")] if state.asking else []
    reopened: list[ev.AnyEvent] = [ev.SessionReopened(command.by)] if state.expired_at else []
    return [*reopened, *under_way, ev.MessageAdded("staff", worded(command.text), command.by)]


@command_handler(Whisper)
def whispered(command: Whisper, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Raises SessionOver, Invalid."""
    must_live(state)
    return [ev.GuidanceGiven(worded(command.text), command.by, command.now)]


@command_handler(HandBack)
def handed_back(command: HandBack, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Raises SessionOver, NotTakenOver, TakenByAnother, Invalid; NotConsistent, naming path and rule, when the state
    does not follow its schema: the agent would act on it.
    """
    _must_have_it(state, command.by)
    summary = command.summary.strip()
    if len(summary) > LONGEST:
        raise Invalid(f"got {len(summary)} characters, at most {LONGEST}", field="summary")
    if found := inconsistent(state, context):
        raise NotConsistent("; ".join(found))
    return [ev.SessionHandedBack(command.by, summary, OPENING, command.speaks)]


def inconsistent(state: SessionState, context: CommandContext) -> list[str]:
    """What keeps the session from being handed back: values that break the schema, contested ones."""
    contested = [f"{each.path}: contested, to be settled first" for each in state.changes.open]
    return [*unfit(state, context), *contested]


@command_handler(AskForPerson)
def person_asked_for(command: AskForPerson, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Nothing when one is there or asked for already. Raises SessionOver."""
    must_live(state)
    return _asked_for(state, command.source, command.by, command.why)


@command_handler(NoPersonNeeded)
def no_person_needed(command: NoPersonNeeded, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Raises SessionOver, NoPersonWanted."""
    must_live(state)
    if not state.desk.wanted_at or state.taken_by:
        raise NoPersonWanted()
    return [ev.HumanWithdrawn(command.by, command.why)]


@command_handler(Assign)
def assigned(command: Assign, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Raises SessionOver, UnknownRequest for one that does not wait, HasChanged when it is another's by now."""
    must_live(state)
    now = state.desk.assigned_to
    if command.request:
        request = state.requests.get(command.request)
        if request is None or request.status is not RequestStatus.PENDING:
            raise UnknownRequest()
        now = request.assigned_to
    if now != command.holder:
        raise HasChanged(by=now)
    if command.to == now:
        return []
    return [ev.WorkAssigned(command.request, command.to, command.by, command.why[:MOST_REASONS], now)]


def heard(events: Sequence[ev.AnyEvent], state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The customer's wish for a person, where `events` tell of it: in their own words, or through the agent's tool."""
    for event in events:
        match event:
            case ev.MessageAdded(role="customer", text=text, by=by) if phrase := phrase_heard(text, context.person):
                return _asked_for(state, "phrase", by, phrase)
            case ev.ToolReturned(call=call) if call in state.calls and state.calls[call].tool == ASK_FOR_PERSON:
                why = str(state.calls[call].arguments.get("why", ""))[:200]
                return _asked_for(state, "tool", "agent", why)
    return []


def dropped(command: Answer | NoAnswer, because: ev.DroppedFor = "taken_over") -> list[ev.AnyEvent]:
    """The record of an answer that is not said."""
    if isinstance(command, NoAnswer):
        return [ev.ModelDropped(command.step, because)]
    return [
        ev.ModelDropped(
            command.step,
            because,
            command.model,
            hashlib.sha256(command.text.encode()).hexdigest(),
            len(command.calls),
            command.input_tokens,
            command.output_tokens,
        )
    ]


def _asked_for(state: SessionState, source: ev.Asked, by: str, why: str) -> list[ev.AnyEvent]:
    if state.taken_by or state.desk.wanted_at or state.ended:
        return []
    return [ev.HumanRequested(source, by, why)]


def _must_have_it(state: SessionState, by: str) -> None:
    must_live(state)
    if not state.taken_by or state.taken_by == QUEUE:
        raise NotTakenOver()
    if state.taken_by != by:
        raise TakenByAnother(by=state.taken_by, since=state.desk.taken_at)
