"""Shapes of policies: versions, cases, dry runs, and grants for what follows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.decide.grants import MAX_REASON
from agentstate.engine.policy.rules import MAX_SECONDS, MAX_USES
from sessions.http.bodies import About, Body, Chars, Command, Instant, Object, Range
from sessions.http.openapi import published
from sessions.policies import dry_runs, queries
from sessions.standing_approvals import queries as lists


class PolicyList(Struct, frozen=True):
    policies: Sequence[queries.PolicyLine]


class CaseResult(Struct, frozen=True):
    case: str
    gate: str
    tier: int
    rule: str
    fault: Annotated[str, About("what it says otherwise than it must, or empty")]


class PolicyRead(queries.PolicyLine, frozen=True, kw_only=True):
    policy: Annotated[Object, About("the version as data")]
    results: Sequence[CaseResult]
    before: Annotated[int, About("the version before; 0 for none")]
    changes: Sequence[queries.RuleChange]
    fails_open: Annotated[
        Sequence[str], About("where a missing value turns a rule off; only a superseded version may have any")
    ]


class DryRunPolicy(Body, kw_only=True):
    """A version of this installation by its name, or a document: one of the two."""

    reference: Annotated[str, Chars(120, "`name` or `name@version`")] | UnsetType = UNSET
    policy: Annotated[Object, About("a policy as data")] | UnsetType = UNSET
    since: Annotated[datetime, Instant("with its time zone")]
    until: Annotated[datetime, Instant("with its time zone; now")] | UnsetType = UNSET
    agent: Annotated[str, Chars(60, "only this agent's sessions")] | UnsetType = UNSET


class SaidThen(Struct, frozen=True):
    gate: str
    tier: int
    rule: str
    policy: str
    quorum: int


class DryRunCall(Struct, frozen=True):
    session: UUID
    seq: int
    at: str
    tool: str
    move: Annotated[str, About("stopped, let through, stricter, laxer, same; unknown where the tool is gone")]
    was: SaidThen
    would: SaidThen | None


class DryRunTold(Struct, frozen=True):
    policy: str
    since: datetime
    until: datetime
    sessions: int
    entries: int
    judged: Annotated[int, About("calls")]
    counts: Annotated[dict[str, int], About("over all calls, by what is otherwise")]
    rules: Annotated[dict[str, int], About("calls that it would stop, by rule")]
    calls: Annotated[Sequence[DryRunCall], About("those of which something else is said first; bounded")]
    left_out: Annotated[Sequence[dry_runs.LeftOut], About("what was not looked at, and why")]


class GrantSame(Command, kw_only=True):
    """Let the same through for what follows, for at most what the rule offers."""

    request: Annotated[UUID, About("a request that was approved by you")]
    seconds: Annotated[int, Range(1, MAX_SECONDS)] | UnsetType = UNSET
    uses: Annotated[int, Range(1, MAX_USES)] | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REASON, blank=True)] | UnsetType = UNSET


class RevokeGrant(Command, kw_only=True):
    reason: Annotated[str, Chars(MAX_REASON, blank=True)] | UnsetType = UNSET


published(
    PolicySummary=queries.PolicyLine,
    ChangedRule=queries.RuleChange,
    LeftOutLine=dry_runs.LeftOut,
    SessionGrant=lists.GrantLine,
    GrantOffer=lists.OfferLine,
    SessionGrants=lists.GrantsView,
)
