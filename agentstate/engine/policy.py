"""Risk tiers and approval rules as data, evaluated on arguments and state.

The strictest matching rule wins, and no rule that matches beside it is weakened: the highest tier, the greatest quorum
and all evidence hold. Whatever cannot be read counts as a yes of that rule, at the highest tier: policy fails closed.
The model has no say in any of it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from agentstate.engine import guards, scratchpad
from agentstate.errors import Invalid

Gate = Literal["allow", "approve"]
HIGHEST_TIER = 3


class BadPolicy(Invalid):
    """The policy cannot be used."""

    code = "bad_policy"


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule. `when` is CEL over arguments, state, history; `tools` names tools or is ("*",)."""

    name: str
    tools: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    when: str
    tier: Annotated[int, msgspec.Meta(ge=0, le=HIGHEST_TIER)]
    gate: Gate
    why: str
    quorum: Annotated[int, msgspec.Meta(ge=1)] = 1
    expires_in: Annotated[int, msgspec.Meta(ge=1)] = 600  # seconds a reviewer has
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
    adapted: tuple[str, ...] = ()  # mappings of the customer's profile that made it stricter

    @property
    def strictness(self) -> tuple[bool, int, int]:
        """Comparable: a verdict with a greater strictness asks for more."""
        return (self.gate == "approve", self.tier, self.quorum)


def load(data: bytes) -> Policy:
    """A policy from its JSON. Raises BadPolicy naming the rule and what is wrong with it."""
    try:
        policy = msgspec.json.decode(data, type=Policy)
    except msgspec.MsgspecError as error:
        raise BadPolicy(str(error)) from None
    names = [rule.name for rule in policy.rules]
    for rule in policy.rules:
        if names.count(rule.name) > 1:
            raise BadPolicy(f"two rules are called {rule.name!r}")
        _check(rule)
    return policy


def _check(rule: Rule) -> None:
    try:
        guards.compiled(rule.when)
        for path in rule.evidence:
            scratchpad.parts(path)
    except Invalid as error:
        raise BadPolicy(f"rule {rule.name!r}: {error.title} {error.detail}") from None


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
    strictest = max(verdicts, key=lambda verdict: verdict.strictness)
    return msgspec.structs.replace(
        strictest,
        tier=max(verdict.tier for verdict in verdicts),
        quorum=max(verdict.quorum for verdict in verdicts),
        evidence=tuple(dict.fromkeys(path for verdict in verdicts for path in verdict.evidence)),
    )


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
            quorum=rule.quorum,
            expires_in=rule.expires_in,
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
