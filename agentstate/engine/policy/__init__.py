"""Risk tiers and approval rules as data, evaluated on arguments and state.

The strictest matching rule wins, and no rule that matches beside it is weakened (`verdict.joined`). Whatever cannot be
read counts as a yes of that rule, at the highest tier: policy fails closed. The model has no say in any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentstate.engine import guards
from agentstate.engine.guards.kinds import Judge, Types, undeclared
from agentstate.engine.policy import missing
from agentstate.engine.policy.edits import Editable, not_editable
from agentstate.engine.policy.requirements import Requirements, asks_more, required
from agentstate.engine.policy.rules import BadPolicy, Policy, Rule, Step, load, load_superseded, open_rules
from agentstate.engine.policy.terms import (
    GATES,
    HIGHEST_TIER,
    Escalation,
    Gate,
    Sticky,
    Terms,
    argument_at,
    may_review,
    reviewers_at,
)
from agentstate.engine.policy.verdict import Verdict, joined
from agentstate.engine.speech import SAY

DELEGATE = "delegate"  # the tool that rules name for calls that a session of its own does
DELEGATES = "No rule speaks of delegates: a session of its own would act for this call."

__all__ = [
    "DELEGATE",
    "GATES",
    "HIGHEST_TIER",
    "BadPolicy",
    "Editable",
    "Escalation",
    "Gate",
    "Policy",
    "Requirements",
    "Rule",
    "Step",
    "Sticky",
    "Terms",
    "Verdict",
    "argument_at",
    "asks_more",
    "evaluate",
    "joined",
    "load",
    "load_superseded",
    "may_review",
    "not_editable",
    "open_rules",
    "required",
    "reviewers_at",
]


def evaluate(policy: Policy, tool: str, effect: str, values: Mapping[str, Any], judge: Judge = undeclared) -> Verdict:
    """What the rules that match `tool` on `values` (see guards.NAMES) say together. `judge` knows what is declared. `*`
    does not match what the agent says.
    """
    free, asking = Types(judge, policy.opened), Types(judge, policy.opened, asks=True)
    verdicts = [
        verdict
        for rule in policy.rules
        if tool in rule.tools or ("*" in rule.tools and tool != SAY)
        if (verdict := _verdict(policy, rule, values, asking if missing.asks(rule.gate, rule.tier) else free))
        is not None
    ]
    return joined(verdicts) if verdicts else _default(policy, tool, effect)


def _verdict(policy: Policy, rule: Rule, values: Mapping[str, Any], types: Types) -> Verdict | None:
    try:
        if not guards.holds(rule.when, values, types):
            return None
    except (guards.BadGuard, guards.UnreadableGuard) as error:
        return _asks(policy, rule, "approve", HIGHEST_TIER, f"The rule could not be read on this call: {error.detail}")
    return _asks(policy, rule, rule.gate, rule.tier, rule.why, rule.sticky)


def _asks(policy: Policy, rule: Rule, gate: Gate, tier: int, why: str, sticky: Sticky | None = None) -> Verdict:
    return Verdict(
        gate=gate,
        tier=tier,
        rule=rule.name,
        policy=policy.reference,
        why=why,
        quorum=rule.quorum,
        expires_in=rule.expires_in,
        evidence=rule.evidence,
        hold=rule.hold,
        reviewers=_groups(rule.reviewers),
        four_eyes=rule.four_eyes,
        reasons=rule.reasons,
        retype=rule.retype,
        chain=tuple(Escalation(step.after, _groups(step.reviewers)) for step in rule.chain),
        sticky=sticky,
        edits=rule.edits,
        proposer_may_approve=rule.proposer_may_approve and tier < HIGHEST_TIER,
    )


def _groups(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return (names,) if names else ()


def _default(policy: Policy, tool: str, effect: str) -> Verdict:
    """No rule speaks of the tool: words are said, reading is free, anything else needs a person."""
    if tool == DELEGATE:
        return Verdict("approve", 2, "default.delegate", policy.reference, DELEGATES)
    if tool == SAY:
        return Verdict("allow", 0, "default.say", policy.reference, "No rule speaks of these words.")
    if effect == "pure":
        return Verdict("allow", 0, "default.read_only", policy.reference, "Reads only.")
    return Verdict("approve", 2, "default.effect", policy.reference, "No rule speaks of this tool.")
