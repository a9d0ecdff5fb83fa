"""Kinds of acts that can be proposed. A kind names the permission, finds the teams, carries the act out, and describes
it. Each feature registers its own kinds; `sessions.web.wiring` imports those features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

import msgspec

from agentstate.people.models import User
from agentstate.people.roles import Permission
from sessions.models.proposals import Proposal


def _nobody(_: Proposal) -> frozenset[str]:
    return frozenset()


def _nothing(_: Proposal, __: str) -> None:
    return None


def _no_profile(_: User, __: Proposal) -> None:
    return None


class ProfileChange(msgspec.Struct, frozen=True):
    """The change of a customer's profile. `customer`: for readers who may read a session of the customer."""

    description: str
    customer: UUID | None


class Kind(msgspec.Struct, frozen=True):
    """One kind of act. `carry_out` and `reject` run in the transaction that ends the proposal.

    With `each_team` an answer counts for its team alone: one team's rejection leaves the others free to agree.
    `changes` describes the act to a reader of these teams, by id and name. `profile_change` records that it was read.
    """

    name: str
    permission: Permission
    title: str
    changes: Callable[[Proposal, Mapping[UUID, str]], list[str]]
    teams: Callable[[Proposal], frozenset[UUID]]  # that it concerns now
    carry_out: Callable[[Proposal], None]
    reject: Callable[[Proposal, str], None] = _nothing  # with the actor who rejected it
    excluded: Callable[[Proposal], frozenset[str]] = _nobody  # actors who cannot agree, besides the proposer
    each_team: bool = False
    of_subject: bool = True  # about one data subject
    is_erasure: bool = False  # `details` names the erasure request
    profile_change: Callable[[User, Proposal], ProfileChange | None] = _no_profile


KINDS: dict[str, Kind] = {}
NAMES: list[str] = []  # of all kinds


def register(*kinds: Kind) -> None:
    """Adds kinds of proposals."""
    KINDS.update({each.name: each for each in kinds})
    NAMES[:] = KINDS
