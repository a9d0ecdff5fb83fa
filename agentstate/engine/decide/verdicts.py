"""What policy says of a call on today's values, and whether a grant lets it through. The model has no part in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import references, speech
from agentstate.engine.decide.context import CommandContext, Giver, ToolFacts
from agentstate.engine.decide.families import in_family
from agentstate.engine.decide.reviewing import had_a_part, needed, proposers_of, why_left_out
from agentstate.engine.decide.schema import in_force, judge_of
from agentstate.engine.guards.kinds import Judge, Types
from agentstate.engine.instants import stamp
from agentstate.engine.plan.facts import BATCH
from agentstate.engine.policy import DELEGATE, HIGHEST_TIER, Verdict, evaluate, joined
from agentstate.engine.policy.granted import Asked, Grant, holds_at, let_through, may_be_granted
from agentstate.engine.policy.tally import UNREAD, Tally, amounts_of, counted, readable, today, without
from agentstate.engine.policy.terms import is_known_at, may_review
from agentstate.engine.profile.mapping import tightened
from agentstate.engine.references import Views
from agentstate.engine.scratchpad import messages
from agentstate.engine.speech import SAY
from agentstate.engine.state.rounds import (
    PLAN,
    board_of,
    data_instance,
    delegate_of,
    offered_by,
    pad_of,
    private_places,
)
from agentstate.engine.state.session import Call, SessionState

_NO_RIGHT = Giver(())
UNKNOWN_RISK = "How risky this call is could not be told."


def verdict_on(state: SessionState, call: Call, facts: ToolFacts, context: CommandContext) -> Verdict:
    """The strictest verdict on `call` as it would run now, made stricter by what its customer wants; or that somebody
    granted it for what follows.
    """
    verdict, values = policy_on(state, call, facts, context)
    if not may_be_granted(verdict):
        return verdict
    usable = (grant for grant in grants_for(state, context) if _may_rest_on(grant, state, call, verdict, context))
    types = Types(_judge(state, facts, values, context), context.policy.opened)
    return let_through(verdict, usable, Asked(call.tool, call.activity, call.kid, call.rule, values, context.at, types))


def grants_for(state: SessionState, context: CommandContext) -> list[Grant]:
    """Returns the standing approvals in force on which a call of the session may rest: its own, and those from beyond
    it. A fork has none from beyond.
    """
    own = (grant for grant in state.grants.values() if grant.scope == "session")
    wider = () if state.versions.is_draft else context.grants.values()
    return [grant for grant in (*own, *wider) if holds_at(grant, context.at)]


def _may_rest_on(grant: Grant, state: SessionState, call: Call, verdict: Verdict, context: CommandContext) -> bool:
    """Whether a call may rest on a standing approval as far as people are concerned. The giver and the people who share
    a right with the giver had no part in the call, and the giver still has the right of the rule's reviewers and tier.
    """
    tier = max(grant.tier, verdict.tier)
    giver = context.givers.get(grant.by, _NO_RIGHT) if context.givers is not None else None
    left = had_a_part(state, call, proposers_of(state, call), tier, grant.four_eyes)
    if giver is None:
        return not {grant.by, grant.under} & left.keys()
    return any(
        each.of == grant.under
        and needed(tier) in each.may
        and may_review(grant.has_met.reviewers, each.names)
        and not why_left_out(grant.by, each, left, giver.sharing)
        for each in giver.authorities
    )


def policy_on(
    state: SessionState, call: Call, facts: ToolFacts, context: CommandContext
) -> tuple[Verdict, dict[str, Any]]:
    """The verdict without grants, and the values that rules read. A call with a delegate is also judged as the tool
    `delegate`: the session that does it may call every tool of the agent.
    """
    return _policy_on(state, call, facts, context, bool(delegate_of(state.plans, call.id)))


def _policy_on(
    state: SessionState, call: Call, facts: ToolFacts, context: CommandContext, is_delegated: bool
) -> tuple[Verdict, dict[str, Any]]:
    values = values_of(in_family(state, context), call, context)
    judge = _judge(state, facts, values, context)
    verdict = _at_least(evaluate(context.policy, call.tool, facts.effect, values, judge), facts, values)
    if is_delegated:
        as_delegate = evaluate(context.policy, DELEGATE, "once", values, judge)
        verdict = replace(joined([as_delegate, verdict]), sticky=None)
    if call.tool == PLAN and verdict.gate != "allow":
        verdict = _with_calls(verdict, state, call, context)
    return tightened(verdict, state.user.tightenings, call.tool, values), values


def _judge(state: SessionState, facts: ToolFacts, values: dict[str, Any], context: CommandContext) -> Judge:
    arguments = None if facts.name == SAY else facts.form  # what rules read of the agent's words the engine made
    return judge_of(in_force(state, context), arguments, values)


def values_of(state: SessionState, call: Call, context: CommandContext) -> dict[str, Any]:
    """What rules read, by guards.NAMES; docs/policy.md says what each holds."""
    opened, at = state.opened, context.at.astimezone(context.zone)
    tally, local = _tally(state, call, stamp(context.at)), at.isoformat(timespec="seconds")
    return {
        "arguments": words_of(state, call.arguments, context) if call.tool == SAY else call.arguments,
        "state": pad_of(state.plans, state.pad, data_instance(state.plans, call.id)),
        "history": {
            "refusals": state.refusals,
            "calls": state.proposed,
            "messages": state.messages,
            "runs": state.runs,
            "today": {"calls": tally.calls, "moved": readable(tally, _unread(call, context))},
        },
        "session": {"agent": opened.agent, "channel": opened.channel, "topic": opened.topic} if opened else {},
        "customer": {**_customer(state), "id": opened.customer} if opened else {},
        "agent": {"name": opened.agent} if opened else {},
        "time": {
            "hour": at.hour,
            "minute": at.minute,
            "weekday": at.isoweekday(),
            "date": local[: len("2026-11-21")],
            "now": local[: len("2026-11-21T03:25:00")],
            "zone": str(context.zone),
        },
    }


def words_of(state: SessionState, arguments: dict[str, Any], context: CommandContext) -> dict[str, Any]:
    """Returns what rules read of words: also amounts, links, and the private values of the session and of its instances
    that are in them.
    """
    boards = {name: board_of(state.plans, name) for name in ("", *state.plans.instances)}
    views = [
        {**messages.values(board), messages.STATE: pad_of(state.plans, state.pad, name)}
        for name, board in boards.items()
    ]
    return speech.read(arguments["text"], views, sorted({*private_places(state.plans, context.memory.private)}))


def findings_on(state: SessionState, call: Call, context: CommandContext) -> str:
    """Returns what was found in words that are to be said, as a sentence; empty for every other call."""
    return speech.findings(words_of(state, call.arguments, context)) if call.tool == SAY else ""


def _tally(state: SessionState, call: Call, at: str) -> Tally:
    """The sums of the day, without what the call itself has added to them: it may be tried again."""
    tally = today(state.tally, at)
    if call.counted != (tally.day, ev.digest(call.arguments) if call.attempt else ""):
        return tally
    return without(tally, counted(Tally(), call.tool, call.moved, at))


def _unread(call: Call, context: CommandContext) -> str:
    """The tool of the call, where it moves an amount that cannot be read; empty: it does not."""
    facts = context.tools.get(call.tool)
    is_read = facts is None or facts.effect == "pure" or UNREAD not in amounts_of(call.arguments, facts.amounts)
    return "" if is_read else call.tool


def _customer(state: SessionState) -> dict[str, Any]:
    """What the session knows of its customer: their preferences by name, and what they agreed to be known for."""
    preferences = state.user.view.get("preferences", {})
    return {
        "preferences": {name: found["value"] for name, found in preferences.items()},
        "consents": list(state.user.consents),
    }


def _at_least(verdict: Verdict, facts: ToolFacts, values: dict[str, Any]) -> Verdict:
    """The verdict, of the tier that the tool itself gives these arguments if that is higher. One that cannot say is of
    the highest, and a person decides.
    """
    if facts.risk is None:
        return verdict
    try:
        tier = min(facts.risk(values["arguments"], values["state"]), HIGHEST_TIER)
    except Exception:  # whatever a tool's function raises: policy fails closed
        return joined([verdict, replace(verdict, gate="approve", tier=HIGHEST_TIER, why=UNKNOWN_RISK)])
    return replace(verdict, tier=tier) if tier > verdict.tier else verdict


def _with_calls(verdict: Verdict, state: SessionState, plan: Call, context: CommandContext) -> Verdict:
    """The verdict on a plan covers its calls, so it asks for as much as the strictest of them. What is not known yet
    (a reference) cannot be read by a rule, and counts as the highest tier. What the plan and each of its instances are
    given is known.
    """
    shared = plan.arguments.get("inputs", {})
    inputs = [{**shared, **each} for each in offered_by(state.plans, plan.id).values()] or [shared]
    of_calls = [
        _of_plan(at, arguments, _verdict_in_plan(state, plan, written, filled, context))
        for at, written in enumerate(plan.arguments["calls"])
        if written.get("_tool") in context.tools
        if (arguments := {key: value for key, value in written.items() if not key.startswith("_")}) is not None
        for filled in _for_each(arguments, inputs)
    ]
    whole = joined([verdict, *of_calls])
    return replace(
        whole,
        gate=verdict.gate,
        rule=verdict.rule,
        why=verdict.why,
        evidence=verdict.evidence,
        adapted=verdict.adapted,
        sticky=None,
        edits=(),
    )


def _for_each(arguments: dict[str, Any], inputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The arguments of a plan's call as they are with each of these inputs; once where they refer to none."""
    if not any(path.kind == "input" for _, found in references.within(arguments) for path in found.paths):
        return [arguments]
    return [_with_inputs(arguments, {"input": each}) for each in inputs]


def _with_inputs(value: Any, views: Views) -> Any:
    """`value` with every reference to one path of the inputs replaced; others stay as they are written."""
    if references.is_reference(value):
        paths = references.parse(value).paths
        found = references.read(views, paths[0]) if len(paths) == 1 else None
        return found.value if found is not None else value
    if isinstance(value, dict):
        return {key: _with_inputs(each, views) for key, each in value.items()}
    return [_with_inputs(each, views) for each in value] if isinstance(value, list) else value


def _verdict_in_plan(
    state: SessionState, plan: Call, written: dict[str, Any], arguments: dict[str, Any], context: CommandContext
) -> Verdict:
    call, is_delegated = replace(plan, tool=written["_tool"], arguments=arguments), _opens_session(written)
    return _policy_on(state, call, context.tools[call.tool], context, is_delegated)[0]


def _opens_session(written: dict[str, Any]) -> bool:
    return written.get("_delegate", BATCH) not in ("", BATCH)


def _of_plan(at: int, arguments: dict[str, Any], verdict: Verdict) -> Verdict:
    """The verdict on a plan's call number `at`, its arguments named as they stand in the plan's. A value that a
    reference fills is typed when it is known: the plan's approval does not cover that call (`permits.met_by_plan`).
    """
    known = (path for path in verdict.retype if is_known_at(arguments, path))
    return replace(verdict, retype=tuple(in_plan(at, path) for path in known))


def in_plan(at: int, path: str) -> str:
    """The path of an argument of a plan's call number `at` as it stands in the plan's own arguments."""
    return path.replace("arguments", f"arguments.calls.{at}", 1)
