"""Approvals: a person decides a request, alone or as one of a quorum, or its time passes.

Every outcome is named. What is escalated stays pending and is another's; what was approved and is held stays pending
until its time is over (see `holds`). Nothing that passes by itself approves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide import plans
from agentstate.engine.decide.commands import Authority, Decide, Escalate, Expire
from agentstate.engine.decide.given import Given, ToolFacts
from agentstate.engine.decide.holds import held
from agentstate.engine.decide.permits import permit_digest
from agentstate.engine.decide.refusals import DecisionNotAllowed, Outdated
from agentstate.engine.decide.reviewing import must_be_another, must_be_entitled, open_request
from agentstate.engine.decide.verdicts import verdict_on
from agentstate.engine.policy.terms import argument_at
from agentstate.engine.state import Request, SessionState, digest_of
from agentstate.engine.state.rounds import PLAN
from agentstate.errors import Invalid, Refused

REASONED = ("approve", "edit", "reject")  # what needs a reason code where the terms name some
OUTCOMES: dict[str, ev.Outcome] = {"reject": "rejected", "respond": "responded", "ignore": "ignored"}
MAX_CHANGES = 200  # values of an edit that its entry lists


def decided(command: Decide, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The decision, and the end of the request unless others must approve as well, or it is held or passed on."""
    request = open_request(state, command.request)
    must_be_complete(command, request)
    must_give_code(command, request)
    authority = must_be_entitled(command, request, request.asked.tier)
    return concluded(command, state, given, request, authority)


def concluded(
    command: Decide, state: SessionState, given: Given, request: Request, authority: Authority
) -> list[ev.AnyEvent]:
    """What a decision leads to that its author may take."""
    seen = as_seen(command, state, request)
    if command.decision in ("approve", "edit"):
        return _approve(command, state, request, authority, seen, given)
    made = _decision(command, request, authority, seen, "", request.asked.tier)
    if command.decision == "escalate":
        return [made, _escalated(request, command.by, command.reason.strip())]
    because = "a person let it be" if command.decision == "ignore" else ""
    return [made, ev.RequestEnded(command.request, OUTCOMES[command.decision], because)]


def must_be_complete(command: Decide, request: Request) -> None:
    """Refuse a decision that is not offered, or lacks what it needs. Raises DecisionNotAllowed, Invalid."""
    if command.decision not in request.asked.allowed:
        raise DecisionNotAllowed(f"{command.decision} is not offered here", field="decision")
    if command.decision in ("reject", "edit", "escalate") and not command.reason.strip() and not command.code:
        raise Invalid("say why", field="reason")
    if command.arguments is not None and command.decision != "edit":
        raise Invalid("only an edit carries arguments", field="arguments")
    if command.decision == "respond" and not command.response.strip():
        raise Invalid("what is the answer?", field="response")
    if command.decision == "escalate" and request.step >= len(request.terms.chain):
        raise DecisionNotAllowed("there is nobody to pass it on to", field="decision")


def must_give_code(command: Decide, request: Request) -> None:
    """Refuse a decision without one of the reasons that the terms name. Raises Invalid."""
    codes = request.terms.reasons
    if command.code and command.code not in codes:
        raise Invalid(f"got {command.code[:50]!r}, want one of {', '.join(codes) or 'none'}", field="code")
    if codes and command.decision in REASONED and not command.code:
        raise Invalid(f"choose one of {', '.join(codes)}", field="code")


def must_have_retyped(command: Decide, arguments: dict[str, Any], request: Request) -> None:
    """Refuse an approval whose author has not typed the values that the terms name, as they would execute. Raises
    Invalid.
    """
    for path in request.terms.retype:
        try:
            wanted = argument_at(arguments, path)
        except LookupError:
            continue  # the call has no such argument
        if path not in command.retyped:
            raise Invalid("type it yourself", field=f"retyped.{path}")
        if ev.digest(command.retyped[path]) != ev.digest(wanted):
            raise Invalid("it is not what would be done", field=f"retyped.{path}")


def as_seen(command: Decide, state: SessionState, request: Request) -> str:
    """The digest of what the request shows now. An edit that waits for others changes it: who has not seen that
    may not decide, and what is recorded as shown is of what is decided. Raises Outdated.
    """
    shown = digest_of(state, request)
    if command.shown is not None and command.shown.data.get("digest") != shown:
        raise Outdated("what was shown is not what is decided: look at it again")
    if command.seen != shown and (command.seen or request.approved_arguments is not None):
        raise Outdated("the request has been edited since: look at it again")
    return shown


def _approve(
    command: Decide, state: SessionState, request: Request, authority: Authority, seen: str, given: Given
) -> list[ev.AnyEvent]:
    asked, facts = request.asked, _facts(state, given, request.asked.tool)
    if request.held_until and request.terms.gate != "hold":
        raise DecisionNotAllowed("it is approved and held: undo that first")
    arguments = request.arguments
    bound = seen  # what may execute is what was seen, and nothing else
    if command.decision == "edit":
        arguments = _edited(command, arguments, facts)
        bound = permit_digest(
            asked.call, state.epoch, asked.tool, asked.tool_version, arguments, asked.basis, asked.activity
        )
        request = msgspec.structs.replace(request, approvals=(), behalf=())  # of other arguments
    must_be_another(command, authority, state, request)
    must_have_retyped(command, arguments, request)
    call = msgspec.structs.replace(state.calls[asked.call], arguments=arguments)
    verdict = verdict_on(state, call, facts, given)
    authority = must_be_entitled(command, request, max(asked.tier, verdict.tier))
    approved = _decision(command, request, authority, seen, bound, max(asked.tier, verdict.tier))
    edited = command.decision == "edit" or request.approved_arguments is not None
    if len(request.approvals) + 1 < behind(request, edited, verdict.quorum):
        return [approved]
    return [approved, held(request, given) or ev.RequestEnded(command.request, "edited" if edited else "approved")]


def behind(request: Request, edited: bool, quorum: int) -> int:
    """How many people must stand behind it. Under four eyes who edits it has made it, and another must approve."""
    return max(request.asked.quorum, quorum, 2 if edited and request.terms.four_eyes else 1)


def _edited(command: Decide, shown: dict[str, Any], facts: ToolFacts) -> dict[str, Any]:
    """The arguments of an edit. Raises Invalid."""
    if command.arguments is None:
        raise Invalid("an edit needs the whole arguments", field="arguments")
    if command.arguments == shown:
        raise Invalid("nothing was changed: approve it instead", field="arguments")
    facts.check(command.arguments)
    return command.arguments


def _decision(
    command: Decide, request: Request, authority: Authority, seen: str, bound: str, tier: int
) -> ev.DecisionMade:
    approves = command.decision in ("approve", "edit")
    changes = () if command.arguments is None else _changes("arguments", request.arguments, command.arguments)
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
        under=authority.of,
        code=command.code,
        retyped=tuple(path for path in request.terms.retype if path in command.retyped) if approves else (),
        changed=tuple(change for change, _ in zip(changes, range(MAX_CHANGES), strict=False)),
        shown=command.shown,
    )


def _changes(path: str, old: Any, new: Any) -> Iterator[ev.Changed]:
    """Where two values differ, leaf by leaf; a list is one leaf, and so is an amount of money."""
    if isinstance(old, dict) and isinstance(new, dict) and "currency" not in old:
        for name in (*old, *(name for name in new if name not in old)):
            yield from _changes(f"{path}.{name}", old.get(name), new.get(name))
    elif ev.digest(old) != ev.digest(new):
        yield ev.Changed(path, old, new)


def escalated(command: Escalate, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The request goes to the next of its chain, because nobody decided in time. Raises Outdated where it has."""
    request = open_request(state, command.request)
    if request.held_until or command.step != request.step + 1 or command.step > len(request.terms.chain):
        raise Outdated(f"the request is at step {request.step}")
    return [_escalated(request, "", "")]


def _escalated(request: Request, by: str, reason: str) -> ev.RequestEscalated:
    following = request.terms.chain[request.step]
    return ev.RequestEscalated(request.asked.request, request.step + 1, following.reviewers, by, reason)


def expired(command: Expire, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The end of a request that nobody decided in time. Raises Outdated for one that is held: that has a time of its
    own.
    """
    request = open_request(state, command.request)
    if request.held_until:
        raise Outdated("it is held")
    return [ev.RequestEnded(request.asked.request, "expired", f"nobody decided before {request.expires_at}")]


def _facts(state: SessionState, given: Given, tool: str) -> ToolFacts:
    facts = plans.plan_tool(state, given) if tool == PLAN else given.tools.get(tool)
    if facts is None:
        raise Refused(f"the tool {tool!r} is not registered any more")
    return facts
