"""Shapes of proposals and of what teams answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from sessions.http.bodies import About, Chars, Command
from sessions.http.openapi import published
from sessions.proposals import queries
from sessions.proposals.workflow import MAX_REASON


class AnswerProposal(Command, kw_only=True):
    """Whether a person's teams agree, or the teams that are late."""

    agrees: bool
    reason: Annotated[str, Chars(MAX_REASON, "needed to reject")] | UnsetType = UNSET
    for_late_teams: Annotated[bool, About("answer for the teams that are late; needs `decide_overdue`")] | UnsetType = (
        UNSET
    )


class TeamProposalList(Struct, frozen=True):
    """Proposals, those that wait for you first."""

    proposals: Sequence[queries.ProposalLine]


published(TeamProposalAnswer=queries.AnswerLine, TeamProposal=queries.ProposalLine)
