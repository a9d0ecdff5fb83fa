"""Events of approval requests and of standing approvals.

The use of a standing approval is recorded in `call.allowed` and `tool.intended`: their rule is `grant:` and its id.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine.events.base import Arguments, DecisionKind, Event, Outcome
from agentstate.engine.policy.requirements import Requirements
from agentstate.engine.policy.terms import Gate, Names, Scope, Terms


class Evidence(msgspec.Struct, frozen=True):
    """One value of the scratchpad that the rule, the preview or the reviewer's page reads."""

    path: str
    value: Any


class ChangedInput(msgspec.Struct, frozen=True):
    """A value that an approved plan reads and that changed after its approval: its path, and the person who changed it.
    The path `plan` means the plan itself, which a person edited; `arguments` means the arguments of a call.
    """

    path: str
    by: str


class ApprovalRequested(Event, frozen=True, tag="approval.requested"):
    """A call waits for a person. `digest` binds call, epoch, tool and version, arguments and basis."""

    request: str
    call: str
    tool: str
    tool_version: int
    arguments: Arguments
    preview: str
    tier: int
    rule: str
    policy: str
    why: str
    quorum: int
    allowed: tuple[DecisionKind, ...]
    basis: tuple[Evidence, ...]
    response_schema: dict[str, Any]
    expires_at: str
    digest: str
    supersedes: str = ""
    adapted: tuple[str, ...] = ()  # mappings of the customer's profile that made policy stricter here
    activity: str = ""  # the function that is to execute it, when not the tool's own; the digest binds it too
    terms: Terms | None = None  # what the rules ask of people; None: nothing beyond what stands above
    changed: tuple[ChangedInput, ...] = ()  # why the approval of its plan does not cover it
    proposed_by: tuple[str, ...] = ()  # the proposers of the call or an argument: people, or "agent:..."
    approvers_missing: int = 0  # so many people too few could approve it then; the team's deputies may approve it
    v: int = 1


class Changed(msgspec.Struct, frozen=True):
    """One value that an edit changed, with its type: at `arguments.amount.minor`, from `old` to `new`. None: there is
    no such value.
    """

    path: str
    old: Any
    new: Any


class View(msgspec.Struct, frozen=True):
    """What stood before a person as they decided. `digest` is over `data`: what was asked, on which evidence, by which
    rule and terms, as it was shown, masked values as their marks. What is long, and what was said, is cited by the
    entry of this log that holds it.
    """

    digest: str
    data: dict[str, Any]


class DecisionMade(Event, frozen=True, tag="decision.made"):
    """A person decided a request. `seen` is the digest that the request had as they saw it; `digest` of what may now
    execute. `shown`: what they saw; None: a program that did not say.
    """

    request: str
    decision: DecisionKind
    by: str
    reason: str
    seen: str
    digest: str = ""
    arguments: Arguments | None = None
    response: str = ""
    tier: int = 0
    under: str = ""  # whose authority it rests on, when not that of `by`: they have delegated it
    deputy: bool = False  # they decided it as a deputy of the team, which had too few people for it
    code: str = ""  # the reason, out of those that the terms name
    retyped: tuple[str, ...] = ()  # paths of the arguments that the person has typed themselves
    changed: tuple[Changed, ...] = ()  # what an edit changed
    shown: View | None = None
    v: int = 1


class RequestEscalated(Event, frozen=True, tag="request.escalated"):
    """The request is for the next of its chain now: a person passed it on (`by`), or nobody decided in time."""

    request: str
    step: int  # of the chain, from 1
    reviewers: tuple[Names, ...]
    by: str = ""
    reason: str = ""
    v: int = 1


class RequestHeld(Event, frozen=True, tag="request.held"):
    """Enough people have approved it; it executes at `until`, by the database's clock, unless it is undone."""

    request: str
    until: str
    v: int = 1


class RequestUndone(Event, frozen=True, tag="request.undone"):
    """A person objected during the delay. The request waits for a decision again, and earlier approvals are void.
    `until` is its new deadline; empty: the deadline that it had. `approvers_missing` is how many people too few could
    approve it then; None: as many as before.
    """

    request: str
    by: str
    reason: str = ""
    until: str = ""
    approvers_missing: int | None = None
    v: int = 1


class RequestClaimed(Event, frozen=True, tag="request.claimed"):
    """Somebody is on a request. Their lease lasts until `until` unless their page renews it, which is no entry; judged
    by the database's clock alone. `taken_from`: who was on it and lost it to them.
    """

    request: str
    by: str
    until: str
    taken_from: str = ""
    v: int = 1


class RequestReleased(Event, frozen=True, tag="request.released"):
    """Who was on a request gave it back. A lease that runs out is no entry."""

    request: str
    by: str
    v: int = 1


class RequestEnded(Event, frozen=True, tag="request.ended"):
    """A request reached its named outcome. `because` says why when no person decided."""

    request: str
    outcome: Outcome
    because: str = ""
    unwritten: str = ""  # why the answer is not written where a plan says
    v: int = 1


class GrantGiven(Event, frozen=True, tag="grant.given"):
    """The same tool is let through, within these bounds, without asking again. See policy.granted.Grant."""

    grant: str
    request: str
    call: str
    tool: str
    rule: str
    policy: str
    gate: Gate
    tier: int
    reviewers: tuple[Names, ...]
    four_eyes: bool
    retype: tuple[str, ...]
    arguments: Arguments
    scope: Scope
    until: str
    uses: int
    limit: str
    by: str
    reason: str = ""
    activity: str = ""
    under: str = ""  # whose authority it rests on, when not that of `by`: they have delegated it
    met: Requirements | None = None  # what the approval has met; None: recorded before it was compared whole
    v: int = 1


class GrantRevoked(Event, frozen=True, tag="grant.revoked"):
    """The grant lets nothing through any more."""

    grant: str
    by: str
    reason: str = ""
    v: int = 1
