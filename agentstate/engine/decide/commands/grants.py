"""What an approver grants for what follows, and what is taken back."""

from __future__ import annotations

from typing import ClassVar

from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.commands.base import Command


class GrantSame(Command, frozen=True):
    """An approver of a request gives a standing approval of the same, for at most as long and as often as the rule
    offers (None: as it offers). `may` and `names` are their authority at this instant, `lent` the authorities delegated
    to them, and `sharing` the actors who share a right with them in the team.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"may", "names", "lent", "sharing"})

    request: str
    by: str
    may: frozenset[str]
    seconds: int | None = None
    uses: int | None = None
    reason: str = ""
    names: frozenset[str] = frozenset()
    lent: tuple[Authority, ...] = ()
    sharing: frozenset[str] = frozenset()


class RevokeGrant(Command, frozen=True):
    """Somebody who may decide takes a grant back. `wider`: it holds in other sessions too, and whoever commands has
    looked that it stands and may be used here.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"wider"})

    grant: str
    by: str
    may: frozenset[str]
    reason: str = ""
    wider: bool = False
