"""What a rule asks of people beside a yes: who, how many eyes, with which reasons, until when and then whom.

These are the plain records that entries carry; how they are joined is `verdict`, who writes them is `rules`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from agentstate.engine import references
from agentstate.engine.policy.edits import Editable

Gate = Literal["allow", "hold", "approve", "refuse"]
Scope = Literal["session", "customer", "agent"]
HIGHEST_TIER = 3
GATES: tuple[Gate, ...] = ("allow", "hold", "approve", "refuse")  # the laxest first
SCOPES: tuple[Scope, ...] = ("session", "customer", "agent")  # the narrowest first

# Whoever is one of them: "role:supervisor", "team:bank", "user:maya".
Names = tuple[str, ...]


class Sticky(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an approver may grant for what follows: the same tool, in this scope, for so long, so often, and only while
    `limit` (an expression over the values of rules; empty: always) is true of the call.
    """

    scope: Scope
    seconds: int
    uses: int
    limit: Annotated[str, Meta(description="expression that must be true of each call")] = ""


class Escalation(msgspec.Struct, frozen=True):
    """After so many seconds the request is for these. `reviewers`: somebody of each group, as in Terms."""

    after: Annotated[int, Meta(description="seconds that the request has waited")]
    reviewers: Annotated[tuple[Names, ...], Meta(description="one of each group: role:..., team:..., user:...")]


class Terms(msgspec.Struct, frozen=True):
    """How a call may be let through, as its request carries it.

    `reviewers`: the decider must be among the names of every group, one group for each rule that named some; none:
    whoever has the permission. `hold`: seconds between being let through (by policy where the gate is "hold", by people
    where it is "approve") and executing. `retype`: paths below `arguments` that the reviewer types themselves.
    `chain`: whom the request goes to after so many seconds, in the place of `reviewers`; nothing in it approves.
    `edits`: the arguments whose edit counts as the editor's own approval. `proposer_may_approve`: who proposed the call
    may approve it all the same; never at the highest tier.
    """

    gate: Annotated[Gate, Meta(description="approve, or hold: it is done by itself when its time is over")] = "approve"
    hold: Annotated[int, Meta(description="seconds between approval and execution, in which it can be undone")] = 0
    reviewers: Annotated[tuple[Names, ...], Meta(description="one of each group: role:..., team:..., user:...")] = ()
    four_eyes: Annotated[
        bool, Meta(description="no edit counts, and not by the person to whom the session is assigned")
    ] = False
    reasons: Annotated[tuple[str, ...], Meta(description="codes; where there are any, name one")] = ()
    retype: Annotated[tuple[str, ...], Meta(description="paths of arguments that you type yourself to approve")] = ()
    chain: Annotated[tuple[Escalation, ...], Meta(description="for whom it is when nobody has decided")] = ()
    sticky: Annotated[Sticky | None, Meta(description="what an approver may grant for what follows")] = None
    edits: Annotated[
        tuple[Editable, ...], Meta(description="the arguments whose edit counts as your own approval")
    ] = ()
    proposer_may_approve: Annotated[bool, Meta(description="who proposed it may approve it; never at tier 3")] = False


def reviewers_at(terms: Terms, waited: float) -> tuple[Names, ...]:
    """Whom the request is for after it has waited so many seconds."""
    return next((step.reviewers for step in reversed(terms.chain) if step.after <= waited), terms.reviewers)


def may_review(groups: Iterable[Names], person: Container[str]) -> bool:
    """Whether somebody with these names ("role:...", "team:...", "user:...") is among each of the groups."""
    return all(any(name in person for name in group) for group in groups)


def is_known_at(arguments: Any, path: str) -> bool:
    """Whether the value at this path of a plan's call is written in the plan: no reference will fill it or what it is
    part of. A value that is absent is known to be absent.
    """
    value, names = arguments, path.split(".")[1:]
    while names and isinstance(value, dict | list):
        value = _below(value, names.pop(0))
    return not any(True for _ in references.within(value))


def _below(value: dict[str, Any] | list[Any], name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name)
    return value[int(name)] if name.isdigit() and int(name) < len(value) else None


def argument_at(arguments: Any, path: str) -> Any:
    """The value at `arguments.amount.minor` of a call's arguments (`calls.0` into lists). Raises LookupError where
    there is none, ValueError where a list is asked for a name.
    """
    value = arguments
    for name in path.split(".")[1:]:
        if isinstance(value, list):
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value[name]
        else:
            raise LookupError(path)
    return value
