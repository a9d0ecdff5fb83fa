"""Risk tiers and approval rules as data, evaluated on arguments and state.

The strictest matching rule wins. Whatever cannot be read counts as a yes of that rule, at the highest tier: policy
fails closed. The model has no say in any of it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentstate.engine import guards

Gate = Literal["allow", "approve"]
HIGHEST_TIER = 3


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule. `when` is CEL over arguments, state, history; `tools` names tools or is ("*",)."""

    name: str
    tools: tuple[str, ...]
    when: str
    tier: int
    gate: Gate
    why: str
    quorum: int = 1
    expires_in: int = 600  # seconds a reviewer has
    evidence: tuple[str, ...] = ()  # paths of the scratchpad that the reviewer is shown and the permit is bound to


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named, versioned list of rules."""

    name: str
    version: int
    rules: tuple[Rule, ...]

    @property
    def reference(self) -> str:
        """How entries name this policy: `bank@3`."""
        return f"{self.name}@{self.version}"


class Verdict(msgspec.Struct, frozen=True):
    """What policy says of one call on these values."""

    gate: Gate
    tier: int
    rule: str
    policy: str
    why: str
    quorum: int = 1
    expires_in: int = 600
    evidence: tuple[str, ...] = ()

    @property
    def strictness(self) -> tuple[bool, int, int]:
        """Comparable: a verdict with a greater strictness asks for more."""
        return (self.gate == "approve", self.tier, self.quorum)


def load(data: bytes) -> Policy:
    """A policy from its JSON. Raises msgspec.ValidationError, or BadGuard naming what does not compile."""
    policy = msgspec.json.decode(data, type=Policy)
    for rule in policy.rules:
        guards.compiled(rule.when)
    return policy


def evaluate(policy: Policy, tool: str, effect: str, values: dict[str, Any]) -> Verdict:
    """The strictest verdict among the rules that match `tool` on `values` (see guards.NAMES)."""
    verdicts = [
        verdict
        for rule in policy.rules
        if tool in rule.tools or "*" in rule.tools
        if (verdict := _verdict(policy, rule, values)) is not None
    ]
    if not verdicts:
        return _default(policy, effect)
    return max(verdicts, key=lambda verdict: verdict.strictness)


def _verdict(policy: Policy, rule: Rule, values: dict[str, Any]) -> Verdict | None:
    try:
        if not guards.holds(rule.when, values):
            return None
    except (guards.BadGuard, guards.UnreadableGuard) as error:
        return Verdict(
            gate="approve",
            tier=HIGHEST_TIER,
            rule=rule.name,
            policy=policy.reference,
            why=f"The rule could not be read on this call: {error.detail}",
            evidence=rule.evidence,
        )
    return Verdict(
        gate=rule.gate,
        tier=rule.tier,
        rule=rule.name,
        policy=policy.reference,
        why=rule.why,
        quorum=rule.quorum,
        expires_in=rule.expires_in,
        evidence=rule.evidence,
    )


def _default(policy: Policy, effect: str) -> Verdict:
    """No rule speaks of the tool: reading is free, anything else needs a person."""
    if effect == "pure":
        return Verdict("allow", 0, "default.read_only", policy.reference, "Reads only.")
    return Verdict("approve", 2, "default.effect", policy.reference, "No rule speaks of this tool.")
