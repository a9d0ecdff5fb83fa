"""What would have happened: a record gone through again under another policy, or with other inputs, without effects.

Every recorded entry is folded as it stands, but for those that policy decides: each call is gated anew on the state as
it would have been. Tools are not run: the record answers for them. Where it cannot (a call that never ran, a decision
that nobody had to make) the report says so, and nothing is made up. What the model said is taken as given, although it
might have said something else after the first difference: `from_seq` says where that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide.approvals import decided
from agentstate.engine.decide.calls import begun
from agentstate.engine.decide.commands.approvals import Decide, HoldOver
from agentstate.engine.decide.commands.calls import Begin
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.gates import gate
from agentstate.engine.decide.holds import over
from agentstate.engine.decide.refusals import DecisionNotAllowed
from agentstate.engine.decide.talk import read_one
from agentstate.engine.lifecycle import CALL_ENDED, CallStatus
from agentstate.engine.policy.terms import argument_at
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import Call, Request, SessionState, pending
from agentstate.errors import AgentStateError, Invalid

MAX_INPUTS = 100
EVERYTHING = frozenset({"decide", "decide_tier3"})
Assume = Literal["approve", "reject", "wait"]
GateKind = Literal["allowed", "asked", "refused", "none"]


class BadInput(Invalid):
    """This entry cannot be replaced in this way."""

    code = "bad_input"


class Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another value in the place of a recorded one: what was said (`text`), or what a tool returned (`result`)."""

    seq: int
    text: str | None = None
    result: Any = msgspec.UNSET


class Gate(msgspec.Struct, frozen=True):
    """What became of a call before it could run."""

    kind: GateKind = "none"
    rule: str = ""
    tier: int = 0
    quorum: int = 0
    why: str = ""


class CallReplayed(msgspec.Struct, frozen=True):
    """A call as it went, and as it would have gone. `unknown`: it would have run, and never did."""

    call: str
    tool: str
    seq: Annotated[int, Meta(description="of the entry that proposed it")]
    arguments: dict[str, Any]
    recorded: Gate
    replayed: Gate
    ended: str
    would_end: str
    unknown: Annotated[bool, Meta(description="it would have run, and nobody knows what it would have returned")] = (
        False
    )

    @property
    def differs(self) -> bool:
        """Whether another rule of policy would have decided, or something else would have become of it."""
        same_gate = (self.recorded.kind, self.recorded.tier, self.recorded.quorum) == (
            self.replayed.kind,
            self.replayed.tier,
            self.replayed.quorum,
        )
        return not same_gate or self.ended != self.would_end or self.unknown


class Replayed(msgspec.Struct, frozen=True):
    """What would have happened. `recorded` and `state` are the states at the end; `from_seq` is the entry from which on
    the record is an assumption (-1: never); `left_out` counts entries that could not have been, by kind.
    """

    calls: tuple[CallReplayed, ...]
    recorded: SessionState
    state: SessionState
    from_seq: int
    left_out: dict[str, int]
    not_needed: int  # decisions that nobody would have had to make
    not_made: int  # decisions that somebody would have had to make: `assume` made them


class _Going:
    """A replay under way: the state as it was, the state as it would have been, and what was noticed."""

    def __init__(self, context: CommandContext, assume: Assume) -> None:
        self.context, self.assume = context, assume
        self.was, self.would = SessionState(), SessionState()
        self.gates: dict[str, tuple[int, str, dict[str, Any], Gate]] = {}
        self.new_gates: dict[str, Gate] = {}
        self.intended: set[str] = set()
        self.left_out: dict[str, int] = {}
        self.not_needed = self.not_made = 0
        self.from_seq = -1

    def apply(self, events: Iterable[ev.AnyEvent], at: str) -> None:
        for event in events:
            self.would = evolve(self.would, event, at)
            noted_gates(self.new_gates, event)

    def attempt(self, seq: int, event: ev.AnyEvent, at: str) -> None:
        """One recorded entry in the world as it would have been. What cannot be there is counted and left out."""
        try:
            _STEPS.get(type(event), _verbatim)(self, event, at)
        except (AgentStateError, KeyError):
            kind = ev.kind_of(event)
            self.left_out[kind] = self.left_out.get(kind, 0) + 1
            self.differ(seq)

    def differ(self, seq: int) -> None:
        if self.from_seq < 0:
            self.from_seq = seq


def replay(
    history: Iterable[tuple[int, ev.AnyEvent, str]],
    context: Callable[[str], CommandContext],
    inputs: Iterable[Input] = (),
    assume: Assume = "approve",
) -> Replayed:
    """Go through `history` (seq, event, time) again. `context` is what `decide` is handed at a time, with the other
    policy in it; `assume` is what people would have decided where nobody was asked. Raises BadInput.
    """
    others = _by_seq(inputs)
    going: _Going | None = None
    for seq, event, at in history:
        if going is None:
            going = _Going(context(at), assume)
        going.context = context(at)
        going.was = evolve(going.was, event, at)
        _note_recorded(going, seq, event)
        other = others.pop(seq, None)
        going.attempt(seq, event if other is None else _replaced(event, other, going), at)
        if other is not None or _gates(going, event):
            going.differ(seq)
    if others:
        raise BadInput(f"there is no entry {min(others)}", field="inputs")
    return _report(going or _Going(context(""), assume))


def _by_seq(inputs: Iterable[Input]) -> dict[int, Input]:
    listed = list(inputs)
    if len(listed) > MAX_INPUTS:
        raise BadInput(f"got {len(listed)}, at most {MAX_INPUTS}", field="inputs")
    return {each.seq: each for each in listed}


def _replaced(event: ev.AnyEvent, other: Input, going: _Going) -> ev.AnyEvent:
    """The event with another value in it; another text is read anew. Raises BadInput."""
    if isinstance(event, ev.MessageAdded) and other.text is not None and event.role != "agent":
        return read_one(replace(event, text=other.text), going.would)
    if isinstance(event, ev.ToolReturned) and other.result is not msgspec.UNSET:
        return replace(event, result=other.result)
    raise BadInput(f"entry {other.seq} is a {ev.kind_of(event)}: it takes no such value", field="inputs")


def _verbatim(going: _Going, event: ev.AnyEvent, at: str) -> None:
    going.apply([event], at)


def _gated(going: _Going, event: ev.CallAllowed | ev.CallRefused | ev.ApprovalRequested, at: str) -> None:
    """The gate anew: at the first look on a proposed call, or when one that was let through is about to run."""
    call = going.would.calls.get(event.call)
    if call is None:
        return
    if call.status is CallStatus.PROPOSED:
        going.apply([gate(going.would, call, going.context)], at)
    elif call.status is CallStatus.READY and isinstance(event, ev.ApprovalRequested):
        going.apply(begun(Begin(call.id), going.would, going.context), at)
    _people_decide(going, event.call, at, recorded=isinstance(event, ev.ApprovalRequested))


def _people_decide(going: _Going, call: str, at: str, recorded: bool) -> None:
    """Where somebody would have been asked and nobody was, decide as is assumed."""
    request = _pending_for(going, call)
    if request is None or recorded or going.assume == "wait":
        return
    going.not_made += 1
    for number in range(request.asked.quorum if going.assume == "approve" else 1):
        command = Decide(
            request.asked.request,
            "approve" if going.assume == "approve" else "reject",
            f"assumed:{number}",
            EVERYTHING,
            "assumed in a replay",
        )
        _taken(going, formal(command, request), at)


def _taken(going: _Going, command: Decide, at: str) -> None:
    """A decision, and the end of the hold that follows it: nobody is there to object."""
    going.apply(decided(command, going.would, going.context), at)
    if (still := going.would.requests[command.request]).held_until and still.terms.gate == "approve":
        going.apply(over(HoldOver(command.request), going.would, going.context), at)


def formal(command: Decide, request: Request) -> Decide:
    """The decision with what the terms of the request ask beside it: that it was made says that they were met."""
    names = frozenset(name for group in request.reviewers for name in group)
    arguments = request.arguments if command.arguments is None else command.arguments
    retyped = {}
    for path in request.terms.retype:
        with suppress(LookupError):
            retyped[path] = argument_at(arguments, path)
    code = command.code if command.code in request.terms.reasons else next(iter(request.terms.reasons), "")
    return replace(command, names=names, retyped=retyped, code=code)


def _pending_for(going: _Going, call: str) -> Request | None:
    return next((each for each in pending(going.would) if each.asked.call == call), None)


def _decision(going: _Going, event: ev.DecisionMade, at: str) -> None:
    """A person's decision, if it would have been needed."""
    request = _pending_for(going, going.was.requests[event.request].asked.call)
    if request is None:
        going.not_needed += 1
        return
    command = Decide(
        request.asked.request, event.decision, event.by, EVERYTHING, event.reason, event.arguments, event.response
    )
    seen = going.would.calls[request.asked.call].approved or request.asked.digest
    command = formal(replace(command, seen=seen, code=event.code), request)
    try:
        _taken(going, command, at)
    except DecisionNotAllowed:  # four eyes, or a chain that is not there: it would have gone on waiting
        going.not_needed += 1


def _request_ended(going: _Going, event: ev.RequestEnded, at: str) -> None:
    """An end that no decision brought about: too late, or withdrawn."""
    request = _pending_for(going, going.was.requests[event.request].asked.call)
    if request is None or event.outcome in ("approved", "edited", "rejected", "responded"):
        return
    if event.outcome != "unopposed" or request.terms.gate == "hold":  # what was held then may need a person now
        going.apply([replace(event, request=request.asked.request)], at)


def _intended(going: _Going, event: ev.ToolIntended, at: str) -> None:
    """The call runs if it would have been let through; policy looks at it again, as it does."""
    call = going.would.calls[event.call]
    if call.status in (CallStatus.READY, CallStatus.RUNNING):
        going.apply(begun(Begin(call.id), going.would, going.context), at)
        _people_decide(going, event.call, at, recorded=False)
        if going.would.calls[event.call].status is CallStatus.READY:
            going.apply(begun(Begin(call.id), going.would, going.context), at)


def _result(going: _Going, event: ev.ToolReturned | ev.ToolFailed, at: str) -> None:
    """The record answers for the tool."""
    call = going.would.calls.get(event.call)
    if event.call in going.would.versions.late:
        going.apply([event], at)
    elif call is not None and (call.status is CallStatus.RUNNING or _gives_up(call, event)):
        going.apply([replace(event, attempt=call.attempt)], at)


def _gives_up(call: Call, event: ev.ToolReturned | ev.ToolFailed) -> bool:
    """Whether the call was to be tried again, and by the record the time for that was over."""
    to_be_tried = call.status is CallStatus.READY and bool(call.retry_at)
    return to_be_tried and isinstance(event, ev.ToolFailed) and not event.retry_at


def _nothing(going: _Going, event: ev.AnyEvent, at: str) -> None:
    """Who was on a request changes nothing of what would have happened."""


_STEPS: Mapping[type, Callable[[_Going, Any, str], None]] = {
    ev.CallAllowed: _gated,
    ev.CallRefused: _gated,
    ev.ApprovalRequested: _gated,
    ev.DecisionMade: _decision,
    ev.RequestEscalated: _nothing,
    ev.RequestHeld: _nothing,
    ev.RequestUndone: _nothing,
    ev.RequestClaimed: _nothing,
    ev.RequestReleased: _nothing,
    ev.RequestEnded: _request_ended,
    ev.ToolIntended: _intended,
    ev.ToolReturned: _result,
    ev.ToolFailed: _result,
}


def _note_recorded(going: _Going, seq: int, event: ev.AnyEvent) -> None:
    if isinstance(event, ev.ModelAnswered):
        for call in event.calls:
            going.gates.setdefault(call.id, (seq, call.tool, call.arguments, Gate()))
    if isinstance(event, ev.ToolIntended):
        going.intended.add(event.call)
    noted: dict[str, Gate] = {}
    noted_gates(noted, event)
    for key, found in noted.items():
        at, tool, arguments, _ = going.gates.get(key, (seq, "", {}, Gate()))
        going.gates[key] = (at, tool, arguments, found)


def noted_gates(gates: dict[str, Gate], event: ev.AnyEvent) -> None:
    """Note in `gates`, by call, what `event` let become of a call."""
    match event:
        case ev.CallAllowed():
            gates[event.call] = Gate("allowed", event.rule, event.tier)
        case ev.CallRefused():
            gates[event.call] = Gate("refused", event.code, why=event.reason)
        case ev.ApprovalRequested():
            gates[event.call] = Gate("asked", event.rule, event.tier, event.quorum, event.why)


def _gates(going: _Going, event: ev.AnyEvent) -> bool:
    """Whether this entry decided about a call, and would have decided otherwise."""
    call = getattr(event, "call", "")
    if not isinstance(event, ev.CallAllowed | ev.CallRefused | ev.ApprovalRequested):
        return False
    return going.new_gates.get(call, Gate()).kind != going.gates[call][3].kind


def _report(going: _Going) -> Replayed:
    calls = tuple(_told(going, key, *facts) for key, facts in going.gates.items())
    return Replayed(calls, going.was, going.would, going.from_seq, going.left_out, going.not_needed, going.not_made)


def _told(going: _Going, key: str, seq: int, tool: str, arguments: dict[str, Any], recorded: Gate) -> CallReplayed:
    was, would = going.was.calls.get(key), going.would.calls.get(key)
    never = would is not None and would.status is CallStatus.READY and key not in going.intended
    return CallReplayed(
        call=key,
        tool=tool or (was.tool if was else ""),
        seq=seq,
        arguments=arguments or (was.arguments if was else {}),
        recorded=recorded,
        replayed=going.new_gates.get(key, Gate()),
        ended=was.status.value if was else "",
        would_end=would.status.value if would else "",
        unknown=never and (was is None or was.status in CALL_ENDED),
    )
