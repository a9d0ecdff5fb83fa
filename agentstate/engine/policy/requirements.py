"""What policy requires of people before a call may run, and whether it requires more today than was met.

`asks_more` is the one comparison of terms. An approval that is about to be used, an edit, a plan's approval and a
standing approval all ask it, so no field counts on one path and is forgotten on another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentstate.engine.policy.terms import GATES, Terms, reviewers_at


class Requirements(Terms, frozen=True):
    """The terms of a call with its tier and quorum: what a verdict requires, or what an approval has met.

    As what was met, `quorum` counts the people who approved: 0 means that the delay of the policy ran out and nobody
    decided. `reasons` are then the codes that the approvers chose.
    """

    tier: int = 0
    quorum: int = 1


def required(terms: Terms, tier: int, quorum: int) -> Requirements:
    """Returns what a request with these terms, this tier and this quorum requires."""
    shared = {name: getattr(terms, name) for name in Terms.__struct_fields__}
    return Requirements(**shared, tier=tier, quorum=quorum)


def asks_more(now: Requirements, met: Requirements) -> tuple[str, ...]:
    """Returns the names of the fields in which `now` requires more than was `met`; empty: nothing more.

    - `gate`: a stricter gate, and a delay where nothing was required.
    - `tier`, `quorum`: greater ones.
    - `hold`: a longer delay. An approval by people ends a delay of gate `hold`, so that delay is compared only with
      another one that nobody ended.
    - `reviewers`: a group that was not among the groups met.
    - `four_eyes`: required now and not met.
    - `reasons`: codes are required, and no code was chosen or one that is not among them.
    - `retype`: a path that nobody has typed.
    - `chain`: at some time the request is for a group that it was not for at that time.
    - `proposer_may_approve`: who proposed the call may not approve it now, and could then.
    - `sticky`, `edits`: never. They say what may be granted for later calls and which edit approves itself; neither
      requires anything of what was approved as it stands.

    Where the delay of the policy ran out (`met.quorum` is 0) and policy still only delays, the fields about people
    require nothing: they are about those who approve early.
    """
    if now.gate == "allow":
        return ()
    nobody_decides = now.gate == "hold" and met.quorum == 0
    fields = _OF_DELAYS if nobody_decides else _MORE
    return tuple(name for name in fields if _MORE[name](now, met))


def _longer_delay(now: Requirements, met: Requirements) -> bool:
    return now.hold > met.hold and (now.gate == "approve" or met.quorum == 0)


def _another_reason(now: Requirements, met: Requirements) -> bool:
    return bool(now.reasons) and (not met.reasons or not set(met.reasons) <= set(now.reasons))


def _other_reviewers_later(now: Requirements, met: Requirements) -> bool:
    waits = {step.after for step in (*now.chain, *met.chain)}
    return any(not set(reviewers_at(now, wait)) <= set(reviewers_at(met, wait)) for wait in waits)


_MORE: Mapping[str, Callable[[Requirements, Requirements], bool]] = {
    "gate": lambda now, met: GATES.index(now.gate) > GATES.index(met.gate),
    "tier": lambda now, met: now.tier > met.tier,
    "quorum": lambda now, met: now.quorum > met.quorum,
    "hold": _longer_delay,
    "reviewers": lambda now, met: not set(now.reviewers) <= set(met.reviewers),
    "four_eyes": lambda now, met: now.four_eyes > met.four_eyes,
    "reasons": _another_reason,
    "retype": lambda now, met: not set(now.retype) <= set(met.retype),
    "chain": _other_reviewers_later,
    "sticky": lambda now, met: False,
    "edits": lambda now, met: False,
    "proposer_may_approve": lambda now, met: met.proposer_may_approve > now.proposer_may_approve,
}
_OF_DELAYS = ("gate", "tier", "hold")
