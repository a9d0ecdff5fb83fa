"""What policy says of one call, and how what several rules say becomes one verdict.

The strictest names the rule and says why; nothing that matched beside it is weakened. A part of the answer is joined
the way that only ever asks for more: the greatest tier, quorum and hold, everybody's reviewers, reasons, paths and
evidence, the shortest deadline, and of grants only what every rule that asks offers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from agentstate.engine.policy.edits import Editable, named_by_all
from agentstate.engine.policy.requirements import Requirements, required
from agentstate.engine.policy.terms import GATES, SCOPES, Escalation, Gate, Names, Sticky, Terms


class Verdict(msgspec.Struct, frozen=True):
    """What policy says of one call on these values. The fields from `hold` on are those of Terms."""

    gate: Gate
    tier: int
    rule: str
    policy: str
    why: str
    quorum: int = 1
    expires_in: int = 600
    evidence: tuple[str, ...] = ()
    adapted: tuple[str, ...] = ()  # mappings of the customer's profile that made it stricter
    hold: int = 0
    reviewers: tuple[Names, ...] = ()
    four_eyes: bool = False
    reasons: tuple[str, ...] = ()
    retype: tuple[str, ...] = ()
    chain: tuple[Escalation, ...] = ()
    sticky: Sticky | None = None
    edits: tuple[Editable, ...] = ()
    proposer_may_approve: bool = False

    @property
    def strictness(self) -> tuple[int, int, int]:
        """Comparable: a verdict with a greater strictness asks for more."""
        return (GATES.index(self.gate), self.tier, self.quorum)

    @property
    def terms(self) -> Terms:
        """What its request carries."""
        return Terms(**{name: getattr(self, name) for name in Terms.__struct_fields__})

    @property
    def requirements(self) -> Requirements:
        """What it requires of people, as `asks_more` compares it."""
        return required(self.terms, self.tier, self.quorum)


def joined(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict that is as strict as each of `verdicts` (at least one), named after the strictest."""
    strictest = max(verdicts, key=lambda verdict: verdict.strictness)
    asking = [verdict for verdict in verdicts if verdict.gate != "allow"]
    expires_in = min((verdict.expires_in for verdict in asking), default=strictest.expires_in)
    return msgspec.structs.replace(
        strictest,
        tier=max(verdict.tier for verdict in verdicts),
        quorum=max(verdict.quorum for verdict in verdicts),
        hold=max(verdict.hold for verdict in verdicts),
        four_eyes=any(verdict.four_eyes for verdict in verdicts),
        expires_in=expires_in,
        evidence=_each(verdict.evidence for verdict in verdicts),
        reviewers=_each(verdict.reviewers for verdict in verdicts),
        reasons=_each(verdict.reasons for verdict in verdicts),
        retype=_each(verdict.retype for verdict in verdicts),
        chain=tuple(step for step in _chain(verdicts) if step.after < expires_in),
        sticky=_offered_by_all(asking),
        edits=named_by_all(verdict.edits for verdict in asking),
        proposer_may_approve=bool(asking) and all(verdict.proposer_may_approve for verdict in asking),
    )


def _each(of_verdicts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(item for items in of_verdicts for item in items))


def _chain(verdicts: Sequence[Verdict]) -> Iterator[Escalation]:
    """A step whenever one of the chains has one: each rule's own step, and beside it the others where they stand."""
    for after in sorted({step.after for verdict in verdicts for step in verdict.chain}):
        yield Escalation(after, _each(_groups_at(verdict, after) for verdict in verdicts))


def _groups_at(verdict: Verdict, waited: int) -> tuple[Names, ...]:
    return next((step.reviewers for step in reversed(verdict.chain) if step.after <= waited), verdict.reviewers)


def _is_of_each_call(verdict: Verdict) -> bool:
    return verdict.quorum > 1 or bool(verdict.retype) or (verdict.gate == "approve" and verdict.hold > 0)


def _offered_by_all(asking: Sequence[Verdict]) -> Sticky | None:
    """The narrowest of the offers, with every limit; None when one of those that ask offers none, or asks of each call
    what cannot be granted for later ones: several people, typing its values, a delay after the approval.
    """
    made = [verdict.sticky for verdict in asking if verdict.sticky is not None and not _is_of_each_call(verdict)]
    if not made or len(made) < len(asking):
        return None
    limits = dict.fromkeys(offer.limit for offer in made if offer.limit)
    return Sticky(
        scope=min((offer.scope for offer in made), key=SCOPES.index),
        seconds=min(offer.seconds for offer in made),
        uses=min(offer.uses for offer in made),
        limit=" && ".join(f"({limit})" for limit in limits) if len(limits) > 1 else "".join(limits),
    )
