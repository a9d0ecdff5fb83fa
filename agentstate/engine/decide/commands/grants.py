"""What an approver grants for what follows, and what is taken back."""

from __future__ import annotations

from agentstate.engine.decide.commands.base import Command


class GrantSame(Command, frozen=True):
    """Who approved a request lets the same through for what follows, for at most as long and as often as the rule
    offers (None: as it offers). `may` holds the permissions they have at this instant.
    """

    request: str
    by: str
    may: frozenset[str]
    seconds: int | None = None
    uses: int | None = None
    reason: str = ""


class RevokeGrant(Command, frozen=True):
    """Somebody who may decide takes a grant back."""

    grant: str
    by: str
    may: frozenset[str]
    reason: str = ""
