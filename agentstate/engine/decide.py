"""`decide(state, command, given) -> events`: the only place where rules live.

A command either becomes one or more events, or is refused with a typed error that names the rule; a refused command
has changed nothing. Commands of people say what they want; commands of the runtime say what happened. Deadlines are
not judged here: the appending statement compares them with the database's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import singledispatch
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine import scratchpad
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.state import Call, Request, SessionState, evolve, pending
from agentstate.errors import Broken, Invalid, NotFound, Refused

MAX_TEXT = 16_384  # characters of one message
MAX_CALLS = 16  # calls in one answer
MAX_STEPS_IN_RUN = 25  # model requests in one run
MODEL_ATTEMPTS = 6
LOST_RESULTS = 4  # attempts whose result may be lost in a crash, beyond those a failure may use
REQUEST_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["decision"],
    "properties": {
        "decision": {"enum": ["approve", "edit", "reject", "respond"]},
        "reason": {"type": "string", "maxLength": 2000},
        "arguments": {"type": "object"},
        "response": {"type": "string", "maxLength": 4000},
    },
    "additionalProperties": False,
}


class ToolFacts(msgspec.Struct, frozen=True):
    """What rules need to know of a tool. `check` raises Invalid; `preview` says in plain words what will happen."""

    name: str
    version: int
    effect: str
    attempts: int
    base_seconds: float
    check: Callable[[object], None]
    preview: Callable[[dict[str, Any], dict[str, Any]], str]


class Given(msgspec.Struct, frozen=True):
    """What the outside hands to `decide`: the time, fresh ids, the tools and the policy in force."""

    at: datetime
    new_id: Callable[[], str]
    tools: Mapping[str, ToolFacts]
    policy: pol.Policy


class Open(msgspec.Struct, frozen=True):
    """Open a session."""

    customer: str
    team: str
    agent: str
    channel: str
    topic: str = ""
    alias: str = ""


class Say(msgspec.Struct, frozen=True):
    """Somebody says something."""

    role: ev.Role
    text: str
    by: str


class End(msgspec.Struct, frozen=True):
    """End the conversation."""

    reason: str
    by: str


class Ask(msgspec.Struct, frozen=True):
    """The runtime is about to ask the model."""

    step: str
    model: str
    first: int
    last: int
    tools: tuple[str, ...]
    digest: str
    trigger: str = "message"


class Answer(msgspec.Struct, frozen=True):
    """The model answered the open request `step`."""

    step: str
    model: str
    text: str
    calls: tuple[ev.CallProposed, ...]
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0


class NoAnswer(msgspec.Struct, frozen=True):
    """The model failed at the open request `step`. `pause` is the jittered pause before the next try, in seconds."""

    step: str
    reason: str
    transient: bool
    pause: float = 1.0


class Begin(msgspec.Struct, frozen=True):
    """The runtime is about to run a call that is ready (or whose result was lost in a crash)."""

    call: str


class Return(msgspec.Struct, frozen=True):
    """A running call returned."""

    call: str
    attempt: int
    result: Any


class Fail(msgspec.Struct, frozen=True):
    """A running call failed. `pause` as in NoAnswer."""

    call: str
    attempt: int
    reason: str
    transient: bool
    pause: float = 1.0


class Decide(msgspec.Struct, frozen=True):
    """A person decides a request. `may` holds the permissions they have at this instant."""

    request: str
    decision: ev.DecisionKind
    by: str
    may: frozenset[str]
    reason: str = ""
    arguments: dict[str, Any] | None = None
    response: str = ""
    seen: str = ""  # digest of what their page showed; required once somebody has edited the request


class Expire(msgspec.Struct, frozen=True):
    """The deadline of a request has passed; the appending statement checks that it has."""

    request: str


class Rest(msgspec.Struct, frozen=True):
    """The runtime found nothing to do."""

    waiting_for: str


class SessionOver(Refused):
    """The conversation is over."""

    code = "session_over"
    remedy = "Open a new session."


class AlreadyDecided(Refused):
    """This request is no longer open."""

    code = "already_decided"


class DecisionNotAllowed(Refused):
    """You may not decide this request in this way."""

    code = "decision_not_allowed"
    status = 403


class UnknownRequest(NotFound):
    """There is no such request in this session."""

    code = "unknown_request"


class Outdated(Refused):
    """What this result answers is not open any more."""

    code = "outdated"


@singledispatch
def decide(command: object, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The events that `command` amounts to on `state`. Raises a subclass of Refused."""
    raise Broken(f"no one decides {type(command).__name__}")


@decide.register
def _open(command: Open, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    if state.opened is not None:
        raise Refused("the session is open already")
    return [
        ev.SessionOpened(command.customer, command.team, command.agent, command.channel, command.topic, command.alias)
    ]


@decide.register
def _say(command: Say, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    _must_live(state)
    text = command.text.strip()
    if not text:
        raise Invalid("a message needs words", field="text")
    if len(text) > MAX_TEXT:
        raise Invalid(f"got {len(text)} characters, at most {MAX_TEXT}", field="text")
    return [ev.MessageAdded(command.role, text, command.by)]


@decide.register
def _end(command: End, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    _must_live(state)
    because = f"the conversation ended: {command.reason}"
    withdrawn = [ev.RequestEnded(request.asked.request, "withdrawn", because) for request in pending(state)]
    return [*withdrawn, ev.SessionEnded(command.reason, command.by)]


@decide.register
def _ask(command: Ask, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    _must_live(state)
    started: list[ev.AnyEvent] = [] if state.run else [ev.RunStarted(given.new_id(), command.trigger)]
    if state.run and state.steps_in_run >= MAX_STEPS_IN_RUN:
        return [ev.SessionFailed(f"the run used up its {MAX_STEPS_IN_RUN} model requests")]
    request = ev.ModelRequested(
        command.step,
        command.model,
        command.first,
        command.last,
        command.tools,
        command.digest,
        attempt=state.model_attempt + 1,
    )
    return [*started, request]


@decide.register
def _answer(command: Answer, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    _must_be_asked(state, command.step)
    # Ids are ours: the idempotency key is made of the id, and models count from call_1 again and again.
    answered = ev.ModelAnswered(
        command.step,
        command.model,
        tuple(msgspec.structs.replace(call, id=given.new_id()) for call in command.calls[:MAX_CALLS]),
        command.finish,
        command.input_tokens,
        command.output_tokens,
    )
    said = command.text.strip()[:MAX_TEXT]
    first: list[ev.AnyEvent] = [ev.MessageAdded("agent", said, by=command.model)] if said else []
    then = state
    for event in (*first, answered):
        then = evolve(then, event, stamp(given.at))
    gates = [_gate(then, then.calls[call.id], given) for call in answered.calls]
    return [*first, answered, *gates]


@decide.register
def _no_answer(command: NoAnswer, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    _must_be_asked(state, command.step)
    again = command.transient and state.model_attempt < MODEL_ATTEMPTS
    retry_at = stamp(given.at + timedelta(seconds=command.pause)) if again else ""
    return [ev.ModelFailed(command.step, command.reason, command.transient, retry_at)]


@decide.register
def _begin(command: Begin, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """An intent, if policy on today's values asks for no more than the call has passed; otherwise a new request."""
    call = _call(state, command.call)
    if call.status not in (CallStatus.READY, CallStatus.RUNNING):
        raise Outdated(f"call {call.id} is {call.status.value}")
    if state.ended and call.status is CallStatus.READY:
        raise SessionOver()
    facts = given.tools.get(call.tool)
    if facts is None:
        return [_gone(call)]
    if call.status is CallStatus.RUNNING and _must_not_run_again(call, facts):
        return [ev.ToolFailed(call.id, call.attempt, "it is not known whether it happened", transient=False)]
    verdict = _verdict(state, call, facts, given)
    if call.status is CallStatus.READY:
        changed = _changed_since(state, call, facts, verdict)
        if changed:
            return [_request(state, call, facts, verdict, given, because=changed, supersedes=call.request)]
    return [
        ev.ToolIntended(
            call=call.id,
            tool=call.tool,
            tool_version=facts.version,
            arguments=call.arguments,
            arguments_digest=ev.digest(call.arguments),
            effect=facts.effect,
            key=f"{call.id}.{state.epoch}",
            attempt=call.attempt + 1,
            tier=verdict.tier,
            rule=verdict.rule,
            policy=verdict.policy,
            request=call.request,
            digest=call.approved,
        )
    ]


def _gone(call: Call) -> ev.AnyEvent:
    """The tool was removed since the call was let through."""
    reason = f"the tool {call.tool!r} is not registered any more"
    if call.status is CallStatus.READY:
        return ev.CallRefused(call.id, "unknown_tool", reason)
    return ev.ToolFailed(call.id, call.attempt, reason, transient=False)


def _must_not_run_again(call: Call, facts: ToolFacts) -> bool:
    """A lost result: `once` is never repeated, and what keeps killing its worker is given up."""
    return facts.effect == "once" or call.attempt >= facts.attempts + LOST_RESULTS


@decide.register
def _return(command: Return, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    call = _running(state, command.call, command.attempt)
    return [ev.ToolReturned(call.id, command.attempt, command.result, call.output_path)]


@decide.register
def _fail(command: Fail, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    call = _running(state, command.call, command.attempt)
    again = command.transient and not state.ended and _may_try_again(call, given.tools.get(call.tool))
    retry_at = stamp(given.at + timedelta(seconds=command.pause)) if again else ""
    return [ev.ToolFailed(call.id, command.attempt, command.reason, command.transient, retry_at)]


def _may_try_again(call: Call, facts: ToolFacts | None) -> bool:
    """`once` is never tried again: a time limit that ran out does not say that nothing happened."""
    return facts is not None and facts.effect != "once" and call.attempt < facts.attempts


@decide.register
def _decide(command: Decide, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    request = _open_request(state, command.request)
    if command.decision not in request.asked.allowed:
        raise DecisionNotAllowed(f"{command.decision} is not offered here", field="decision")
    if command.decision in ("reject", "edit") and not command.reason.strip():
        raise Invalid("say why", field="reason")
    if command.arguments is not None and command.decision != "edit":
        raise Invalid("only an edit carries arguments", field="arguments")
    if command.decision == "respond" and not command.response.strip():
        raise Invalid("what is the answer?", field="response")
    _must_be_entitled(command, request.asked.tier)
    seen = _seen(command, state, request)
    if command.decision in ("approve", "edit"):
        return _approve(command, state, request, seen, given)
    outcome: ev.Outcome = "rejected" if command.decision == "reject" else "responded"
    return [_decision(command, request, seen, "", request.asked.tier), ev.RequestEnded(command.request, outcome)]


def _seen(command: Decide, state: SessionState, request: Request) -> str:
    """The digest of what the request shows now. An edit that waits for others changes it: who has not seen that
    may not decide.
    """
    shown = state.calls[request.asked.call].approved or request.asked.digest
    if command.seen != shown and (command.seen or request.approved_arguments is not None):
        raise Outdated("the request has been edited since: look at it again")
    return shown


def _approve(command: Decide, state: SessionState, request: Request, seen: str, given: Given) -> list[ev.AnyEvent]:
    asked, facts = request.asked, _facts(given, request.asked.tool)
    arguments = asked.arguments if request.approved_arguments is None else request.approved_arguments
    bound = seen  # what may execute is what was seen, and nothing else
    if command.decision == "edit":
        arguments = _edited(command, arguments, facts)
        bound = permit_digest(asked.call, state.epoch, asked.tool, asked.tool_version, arguments, asked.basis)
    elif command.by in request.approvals:
        raise DecisionNotAllowed("you have approved it already; another person must")
    call = msgspec.structs.replace(state.calls[asked.call], arguments=arguments)
    verdict = _verdict(state, call, facts, given)
    _must_be_entitled(command, verdict.tier)
    approved = _decision(command, request, seen, bound, max(asked.tier, verdict.tier))
    # An edit starts the count anew: who approved other arguments has not approved these.
    behind = 1 if command.decision == "edit" else len(request.approvals) + 1
    if behind < max(asked.quorum, verdict.quorum):
        return [approved]
    edited = command.decision == "edit" or request.approved_arguments is not None
    return [approved, ev.RequestEnded(command.request, "edited" if edited else "approved")]


def _edited(command: Decide, shown: dict[str, Any], facts: ToolFacts) -> dict[str, Any]:
    """The arguments of an edit. Raises Invalid."""
    if command.arguments is None:
        raise Invalid("an edit needs the whole arguments", field="arguments")
    if command.arguments == shown:
        raise Invalid("nothing was changed: approve it instead", field="arguments")
    facts.check(command.arguments)
    return command.arguments


def _decision(command: Decide, request: Request, seen: str, bound: str, tier: int) -> ev.DecisionMade:
    return ev.DecisionMade(
        request=command.request,
        decision=command.decision,
        by=command.by,
        reason=command.reason.strip(),
        seen=seen,
        digest=bound,
        arguments=command.arguments,
        response=command.response.strip(),
        tier=tier,
    )


@decide.register
def _expire(command: Expire, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    request = _open_request(state, command.request)
    return [ev.RequestEnded(request.asked.request, "expired", f"nobody decided before {request.asked.expires_at}")]


@decide.register
def _rest(command: Rest, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    return [ev.RunRested(state.run, command.waiting_for)] if state.run else []


def _gate(state: SessionState, call: Call, given: Given) -> ev.AnyEvent:
    """What becomes of a proposed call: refused, allowed, or a request to a person."""
    facts = given.tools.get(call.tool)
    if facts is None:
        return ev.CallRefused(call.id, "unknown_tool", f"there is no tool called {call.tool!r}")
    try:
        facts.check(call.arguments)
        if call.output_path is not None:
            scratchpad.parts(call.output_path)
    except Invalid as error:
        return ev.CallRefused(call.id, error.code, f"{error.facts.get('field', '')}: {error.detail}".lstrip(": "))
    if ev.digest(call.tool, call.arguments) in state.refused:
        return ev.CallRefused(call.id, "refused_before", "a person refused exactly this call before")
    verdict = _verdict(state, call, facts, given)
    if verdict.gate == "allow":
        return ev.CallAllowed(call.id, verdict.tier, verdict.rule, verdict.policy)
    return _request(state, call, facts, verdict, given)


def _request(
    state: SessionState,
    call: Call,
    facts: ToolFacts,
    verdict: pol.Verdict,
    given: Given,
    because: str = "",
    supersedes: str = "",
) -> ev.ApprovalRequested:
    basis = tuple(ev.Evidence(path, scratchpad.read(state.pad, path)) for path in verdict.evidence)
    return ev.ApprovalRequested(
        request=given.new_id(),
        call=call.id,
        tool=call.tool,
        tool_version=facts.version,
        arguments=call.arguments,
        preview=_preview(call, state, facts),
        tier=verdict.tier,
        rule=verdict.rule,
        policy=verdict.policy,
        why=f"{because} {verdict.why}".strip(),
        quorum=verdict.quorum,
        allowed=("approve", "edit", "reject", "respond"),
        basis=basis,
        response_schema=REQUEST_SCHEMA,
        expires_at=stamp(given.at + timedelta(seconds=verdict.expires_in)),
        digest=permit_digest(call.id, state.epoch, facts.name, facts.version, call.arguments, basis),
        supersedes=supersedes,
    )


def _preview(call: Call, state: SessionState, facts: ToolFacts) -> str:
    """The tool's own words. One that breaks must not keep the call from the person, who sees its arguments anyway."""
    try:
        return facts.preview(call.arguments, state.pad)
    except Exception as error:
        return f"{facts.name} cannot say what it will do ({type(error).__name__}): read the arguments."


def permit_digest(
    call: str, epoch: int, tool: str, tool_version: int, arguments: dict[str, Any], basis: tuple[ev.Evidence, ...]
) -> str:
    """What an approval is bound to: call, epoch, tool and version, arguments, and the values that were shown."""
    return ev.digest(call, epoch, tool, tool_version, arguments, basis)


def _changed_since(state: SessionState, call: Call, facts: ToolFacts, verdict: pol.Verdict) -> str:
    """Why the call may not run on what it passed, or an empty string: a gate no stricter than the one passed goes
    on.
    """
    if not call.approved:
        return "Policy asks for a person now." if verdict.gate == "approve" else ""
    passed = state.requests[call.request]
    basis = tuple(ev.Evidence(item.path, scratchpad.read(state.pad, item.path)) for item in passed.asked.basis)
    now = permit_digest(call.id, state.epoch, facts.name, facts.version, call.arguments, basis)
    if now != call.approved:
        return "What the approval rested on has changed since."
    stricter = verdict.tier > max(passed.asked.tier, call.tier) or verdict.quorum > len(passed.approvals)
    if verdict.gate == "approve" and stricter:
        return "Policy has become stricter since the approval."
    return ""


def _verdict(state: SessionState, call: Call, facts: ToolFacts, given: Given) -> pol.Verdict:
    values = {
        "arguments": call.arguments,
        "state": state.pad,
        "history": {"refusals": state.refusals, "calls": state.proposed, "messages": state.messages},
        "session": {"agent": state.opened.agent, "channel": state.opened.channel} if state.opened else {},
    }
    return pol.evaluate(given.policy, call.tool, facts.effect, values)


def _must_live(state: SessionState) -> None:
    if state.opened is None:
        raise NotFound("there is no such session")
    if state.ended:
        raise SessionOver(state.ended_reason)


def _must_be_asked(state: SessionState, step: str) -> None:
    if not step or state.asking != step:
        raise Outdated(f"model request {step} is not open")


def _must_be_entitled(command: Decide, tier: int) -> None:
    needed = "decide_tier3" if tier >= pol.HIGHEST_TIER else "decide"
    if needed not in command.may:
        raise DecisionNotAllowed(f"tier {tier} needs the permission {needed}", permission=needed)


def _open_request(state: SessionState, request_id: str) -> Request:
    request = state.requests.get(request_id)
    if request is None:
        raise UnknownRequest()
    if request.status is not RequestStatus.PENDING:
        raise AlreadyDecided(
            f"{request.status.value} at {request.ended_at}",
            outcome=request.status.value,
            by=request.decided_by,
            at=request.ended_at,
        )
    return request


def _call(state: SessionState, call_id: str) -> Call:
    call = state.calls.get(call_id)
    if call is None:
        raise NotFound(f"there is no call {call_id}")
    return call


def _running(state: SessionState, call_id: str, attempt: int) -> Call:
    call = _call(state, call_id)
    if call.status is not CallStatus.RUNNING or call.attempt != attempt:
        raise Outdated(f"call {call_id} is {call.status.value} at attempt {call.attempt}, got attempt {attempt}")
    return call


def _facts(given: Given, tool: str) -> ToolFacts:
    facts = given.tools.get(tool)
    if facts is None:
        raise Refused(f"the tool {tool!r} is not registered any more")
    return facts
