"""Proposals: what waits for the answer of several teams."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from agentstate.people.models import User
from sessions.http.bodies import arguments
from sessions.http.operations import delete, get, post
from sessions.http.parameters import Id
from sessions.proposals import commands, queries
from sessions.proposals import schemas as forms
from sessions.proposals.workflow import UnknownProposal

ProposalId = Annotated[UUID, Id(UnknownProposal)]


@get()
def list_proposals(user: User) -> forms.TeamProposalList:
    """The proposals that you made, that your teams answer, or that you decide when they are late."""
    return forms.TeamProposalList(queries.proposals(user))


@get()
def read_proposal(user: User, proposal: ProposalId) -> queries.ProposalLine:
    """A proposal: what it changes in your teams, and what they answered."""
    return queries.proposal(user, proposal)


@delete()
def withdraw_proposal(user: User, proposal: ProposalId) -> queries.ProposalLine:
    """End your own proposal."""
    return queries.line_of(user, commands.withdraw_proposal(user, proposal))


@post(200)
def answer_proposal(user: User, proposal: ProposalId, body: forms.AnswerProposal) -> queries.ProposalLine:
    """Agree or reject for every team in which you hold the proposal's permission."""
    wanted = arguments(body)
    wanted.pop("key")
    answer = commands.decide_overdue if wanted.pop("for_late_teams", False) else commands.answer_proposal
    return queries.line_of(user, answer(user, proposal, **wanted))
