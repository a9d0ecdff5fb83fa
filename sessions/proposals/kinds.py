"""A kind of act that can be proposed: it names the permission, finds the teams, and carries the act out.

`acts` lists all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import msgspec

from agentstate.people.roles import Permission
from sessions.proposals.tables import Proposal


def _nobody(_: Proposal) -> frozenset[str]:
    return frozenset()


def _nothing(_: Proposal, __: str) -> None:
    return None


class Kind(msgspec.Struct, frozen=True):
    """One kind of act. `carry_out` and `reject` run in the transaction that ends the proposal.

    With `each_team` an answer counts for its team alone: one team's rejection leaves the others free to agree.
    """

    name: str
    permission: Permission
    teams: Callable[[Proposal], frozenset[UUID]]  # that it concerns now
    carry_out: Callable[[Proposal], None]
    reject: Callable[[Proposal, str], None] = _nothing  # with the actor who rejected it
    excluded: Callable[[Proposal], frozenset[str]] = _nobody  # actors who cannot agree, besides the proposer
    each_team: bool = False
