"""What an approver grants for what follows, and that somebody takes it back.

That a grant was used stands in `call.allowed` and `tool.intended`: their rule is `grant:` and its id.
"""

from __future__ import annotations

from agentstate.engine.events.base import Arguments, Event
from agentstate.engine.policy.requirements import Requirements
from agentstate.engine.policy.terms import Gate, Names, Scope


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
