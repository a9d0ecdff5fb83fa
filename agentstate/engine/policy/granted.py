"""What an approver granted for what follows, looked at anew whenever a call is gated: in the session, kept in its
state; or in every session of its customer, or of its agent in its team, kept beside them and handed in.

A grant lets a call through only if it is the same tool, done by the same activity, of the session's own customer; only
while a rule still offers grants for it and asks for no more than what was passed when it was given; only before its
end, while it has uses left, and while its limit is true of the call. If any of that cannot be read, a person is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import guards
from agentstate.engine.guards.kinds import UNTYPED, Types
from agentstate.engine.instants import parse
from agentstate.engine.policy.requirements import Requirements, asks_more
from agentstate.engine.policy.terms import SCOPES, Gate, Names, Scope
from agentstate.engine.policy.verdict import Verdict

PREFIX = "grant:"  # of the rule under which a call is let through by a grant


class Grant(msgspec.Struct, frozen=True):
    """One grant. `met` is what the approval met: what asks for more is asked about again; grants given before it was
    recorded have `gate` to `retype` alone. `arguments` are those of the approved call, which `limit` reads as
    `granted`.
    """

    id: str
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
    arguments: dict[str, Any]
    scope: Scope
    until: str
    uses: int
    limit: str
    by: str
    at: str = ""
    activity: str = ""
    used: int = 0
    revoked_by: str = ""
    revoked_at: str = ""
    met: Requirements | None = None
    under: str = ""  # whose authority it rests on, when not that of `by`

    @property
    def has_met(self) -> Requirements:
        """What its approval met that counts for later calls too: nobody has typed their values or waited for them."""
        recorded = self.met or Requirements(
            gate=self.gate, reviewers=self.reviewers, four_eyes=self.four_eyes, tier=self.tier
        )
        return replace(recorded, retype=(), hold=0)

    @property
    def name(self) -> str:
        """The rule under which it lets calls through."""
        return PREFIX + self.id


def may_be_granted(verdict: Verdict) -> bool:
    """Whether people decide the call, and its rules let a standing approval decide it for them."""
    return verdict.gate != "allow" and verdict.sticky is not None


def let_through(verdict: Verdict, grants: Iterable[Grant], asked: Asked) -> Verdict:
    """The verdict of a call that may be granted, or that a grant lets it through."""
    found = next((grant for grant in grants if covers(grant, verdict, asked)), None)
    if found is None:
        return verdict
    why = f"{found.by} granted it for what follows request {found.request}; rule {verdict.rule}: {verdict.why}"
    return Verdict("allow", verdict.tier, found.name, verdict.policy, why, evidence=verdict.evidence)


class Asked(msgspec.Struct, frozen=True):
    """The call that is gated. `passed`: the rule under which it was let through already, if it was."""

    tool: str
    activity: str
    kid: str
    passed: str
    values: Mapping[str, Any]
    at: datetime
    types: Types = UNTYPED


def covers(grant: Grant, verdict: Verdict, asked: Asked) -> bool:
    """Whether this grant lets a call through of which policy says `verdict`."""
    offer = verdict.sticky
    if offer is None or (asked.tool, asked.activity, asked.kid) != (grant.tool, grant.activity, ""):
        return False
    if SCOPES.index(grant.scope) > SCOPES.index(offer.scope):
        return False  # rules offer less by now
    has_uses = grant.used < min(grant.uses, offer.uses) or asked.passed == grant.name
    is_young = asked.at < parse(grant.at) + timedelta(seconds=offer.seconds)
    in_force = has_uses and is_young and holds_at(grant, asked.at)
    return (
        in_force
        and not asks_more(verdict.requirements, grant.has_met)
        and _within({grant.limit, offer.limit}, grant, asked)
    )


def holds_at(grant: Grant, at: datetime) -> bool:
    """Whether nobody has taken it back and its end has not come."""
    return not grant.revoked_by and at < parse(grant.until)


def _within(limits: Iterable[str], grant: Grant, asked: Asked) -> bool:
    """Whether the limits hold: the one it was given with, and the one that rules set today."""
    values = {**asked.values, "granted": grant.arguments}
    try:
        return all(guards.holds(limit, values, asked.types, guards.OF_GRANTS) for limit in limits if limit)
    except (guards.BadGuard, guards.UnreadableGuard):
        return False
