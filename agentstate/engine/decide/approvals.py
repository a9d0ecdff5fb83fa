"""Approvals: a person decides a request, alone or as one of a quorum, or its time passes.

Every outcome is named. What is escalated stays pending and is another's; what was approved and is held stays pending
until its time is over (see `holds`). Nothing that passes by itself approves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.approvals import Authority, Decide, Escalate, Expire
from agentstate.engine.decide.context import CommandContext, ToolFacts
from agentstate.engine.decide.families import in_family
from agentstate.engine.decide.gates import approval_request, by_people
from agentstate.engine.decide.holds import held
from agentstate.engine.decide.permits import permit_digest
from agentstate.engine.decide.refusals import DecisionNotAllowed, Outdated
from agentstate.engine.decide.reviewing import approving, must_be_entitled, open_request
from agentstate.engine.decide.speech import facts_of
from agentstate.engine.decide.verdicts import policy_on, verdict_on
from agentstate.engine.handlers import command_handler
from agentstate.engine.policy import Verdict, asks_more, not_editable, required
from agentstate.engine.policy.edits import named_by_all
from agentstate.engine.policy.terms import argument_at
from agentstate.engine.state.participants import people
from agentstate.engine.state.session import Request, SessionState, digest_of
from agentstate.errors import Invalid, Refused

REASONED = ("approve", "edit", "reject")  # what needs a reason code where the terms name some
OUTCOMES: dict[str, ev.Outcome] = {"reject": "rejected", "respond": "responded", "ignore": "ignored"}
EDITED = "A person edited it, so another person decides the edited call."
MAX_CHANGES = 200  # values of an edit that its entry lists


@command_handler(Decide)
def decided(command: Decide, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The decision, and the end of the request unless others must approve as well, or it is held or passed on."""
    request = open_request(state, command.request)
    must_be_complete(command, request)
    must_give_code(command, request)
    if command.deputy and not request.asked.approvers_missing:
        raise DecisionNotAllowed("a deputy decides only requests that too few people can approve")
    authority = must_be_entitled(command, request, request.asked.tier)
    return concluded(command, state, context, request, authority)


def concluded(
    command: Decide, state: SessionState, context: CommandContext, request: Request, authority: Authority
) -> list[ev.AnyEvent]:
    """What a decision leads to that its author may take."""
    seen = as_seen(command, state, request)
    if command.decision in ("approve", "edit"):
        return _approve(command, state, request, authority, seen, context)
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
    """Refuse an approval whose author has not typed the values that the terms name, as they would execute. A value that
    the call does not have is sent as null. Raises Invalid.
    """
    for path in request.terms.retype:
        try:
            wanted = argument_at(arguments, path)
        except (LookupError, ValueError):
            wanted = None
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
    command: Decide, state: SessionState, request: Request, authority: Authority, seen: str, context: CommandContext
) -> list[ev.AnyEvent]:
    asked, facts = request.asked, _facts(state, context, request.asked.tool)
    if request.held_until and request.terms.gate != "hold":
        raise DecisionNotAllowed("it is approved and held: undo that first")
    if command.decision == "edit":
        return _edit(command, state, request, authority, seen, context)
    call = msgspec.structs.replace(state.calls[asked.call], arguments=request.arguments)
    verdict = verdict_on(state, call, facts, context)
    _must_not_be_refused(verdict)
    tier = max(asked.tier, verdict.tier)
    authority = approving(command, state, request, tier)
    must_have_retyped(command, request.arguments, request)
    approved = _decision(command, request, authority, seen, seen, tier)  # what may execute is what was seen
    edited = request.approved_arguments is not None
    return _let_through(approved, request, max(asked.quorum, verdict.quorum), edited, context)


def _let_through(
    approved: ev.DecisionMade, request: Request, quorum: int, edited: bool, context: CommandContext
) -> list[ev.AnyEvent]:
    """The approval, and the end of the request unless others must approve as well or it is held."""
    if len(request.approvals) + 1 < quorum:
        return [approved]
    return [approved, held(request, context) or ev.RequestEnded(approved.request, "edited" if edited else "approved")]


def _edit(
    command: Decide, state: SessionState, request: Request, authority: Authority, seen: str, context: CommandContext
) -> list[ev.AnyEvent]:
    """An edit proposes another call. It counts as the editor's own approval where `edit_approves` says so; else the
    request ends, and another person is asked about the edited call on the terms of its own verdict.
    """
    asked, facts = request.asked, _facts(state, context, request.asked.tool)
    arguments = _edited(command, request.arguments, facts)
    _must_not_be_settled(in_family(state, context), asked.tool, arguments)
    before = state.calls[asked.call]
    call = msgspec.structs.replace(before, arguments=arguments, authors=people((*before.authors, command.by)))
    verdict, _ = policy_on(state, call, facts, context)
    _must_not_be_refused(verdict)
    anew = msgspec.structs.replace(request, approvals=(), behalf=())  # earlier approvals are of other arguments
    own = _approving_edit(command, state, anew, verdict, arguments)
    if own is None:
        made = _decision(command, request, authority, seen, "", asked.tier)
        ended = ev.RequestEnded(command.request, "superseded", EDITED)
        asks = by_people(verdict)
        following = approval_request(state, call, facts, asks, context, because=EDITED, supersedes=command.request)
        return [made, ended, following]
    must_have_retyped(command, arguments, request)
    bound = permit_digest(
        asked.call, state.epoch, asked.tool, asked.tool_version, arguments, asked.basis, asked.activity
    )
    approved = _decision(command, request, own, seen, bound, asked.tier)
    return _let_through(approved, anew, asked.quorum, True, context)


def _approving_edit(
    command: Decide, state: SessionState, request: Request, verdict: Verdict, arguments: dict[str, Any]
) -> Authority | None:
    """The authority on which an edit counts as its author's approval; None: it is a proposal, and another person
    approves it.
    """
    if not edit_approves(request, arguments, verdict, command.code):
        return None
    try:
        return approving(command, state, request, request.asked.tier)
    except DecisionNotAllowed:
        return None


def edit_approves(request: Request, arguments: dict[str, Any], verdict: Verdict, code: str) -> bool:
    """Whether an edit to these arguments counts as the editor's approval of them. The request's terms and the rule that
    fits the new arguments must name every changed value, and that rule must ask no more than the request does. An
    editor proposes the edited call, so under four eyes no edit counts.
    """
    terms = request.terms
    named = terms.edits if verdict.gate == "allow" else named_by_all((terms.edits, verdict.edits))
    if verdict.four_eyes or terms.four_eyes or not_editable(named, request.arguments, arguments):
        return False
    met = msgspec.structs.replace(
        required(terms, request.asked.tier, request.asked.quorum),
        gate="approve",
        hold=terms.hold if terms.gate == "approve" else 0,
        reasons=(code,),  # no rule has an empty code
    )
    return not asks_more(verdict.requirements, met)


def _must_not_be_refused(verdict: Verdict) -> None:
    """Raises DecisionNotAllowed where a rule of the policy refuses the call, whatever people say of it."""
    if verdict.gate == "refuse":
        raise DecisionNotAllowed(f"rule {verdict.rule} refuses it: {verdict.why}", rule=verdict.rule)


def _must_not_be_settled(state: SessionState, tool: str, arguments: dict[str, Any]) -> None:
    """Raises DecisionNotAllowed for a call that people have refused or answered already."""
    mark = ev.digest(tool, arguments)
    if mark in state.refused or any(each.mark == mark for each in state.settled):
        raise DecisionNotAllowed("exactly this call was refused, answered or left to expire before", field="arguments")


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
    approves = bool(bound)
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
        deputy=command.deputy and not authority.of,
        code=command.code,
        retyped=tuple(path for path in request.terms.retype if path in command.retyped) if approves else (),
        changed=tuple(islice(changes, MAX_CHANGES)),
        shown=command.shown,
    )


def _changes(path: str, old: Any, new: Any) -> Iterator[ev.Changed]:
    """Where two values differ, leaf by leaf; a list is one leaf, and so is an amount of money."""
    if isinstance(old, dict) and isinstance(new, dict) and "currency" not in old:
        for name in (*old, *(name for name in new if name not in old)):
            yield from _changes(f"{path}.{name}", old.get(name), new.get(name))
    elif ev.digest(old) != ev.digest(new):
        yield ev.Changed(path, old, new)


@command_handler(Escalate)
def escalated(command: Escalate, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The request goes to the next of its chain, because nobody decided in time. Raises Outdated where it has."""
    request = open_request(state, command.request)
    if request.held_until or command.step != request.step + 1 or command.step > len(request.terms.chain):
        raise Outdated(f"the request is at step {request.step}")
    return [_escalated(request, "", "")]


def _escalated(request: Request, by: str, reason: str) -> ev.RequestEscalated:
    following = request.terms.chain[request.step]
    return ev.RequestEscalated(request.asked.request, request.step + 1, following.reviewers, by, reason)


@command_handler(Expire)
def expired(command: Expire, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The end of a request that nobody decided in time. Raises Outdated for one that is held: that has a time of its
    own.
    """
    request = open_request(state, command.request)
    if request.held_until:
        raise Outdated("it is held")
    because, asked = f"nobody decided before {request.expires_at}", request.asked
    if asked.approvers_missing:
        able = asked.quorum - asked.approvers_missing
        because = f"too few people could approve it, {able} of {asked.quorum} when it was asked; {because}"
    return [ev.RequestEnded(asked.request, "expired", because)]


def _facts(state: SessionState, context: CommandContext, tool: str) -> ToolFacts:
    facts = facts_of(tool, state, context)
    if facts is None:
        raise Refused(f"the tool {tool!r} is not registered any more")
    return facts
