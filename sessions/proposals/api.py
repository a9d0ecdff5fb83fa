"""Proposals: what waits for the answer of several teams."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.http.api import READING, WRITING, answers, shown, valid
from sessions.http.parameters import identifier
from sessions.proposals import commands, queries
from sessions.proposals import schemas as forms
from sessions.proposals.workflow import UnknownProposal

PROPOSAL = OpenApiParameter("proposal", UUID, OpenApiParameter.PATH)


def rendered(line: queries.ProposalLine) -> dict[str, Any]:
    """Returns a proposal as the API gives it."""
    return {
        **shown(forms.TeamProposal, line),
        "changes": list(line.changes),
        "sessions": list(line.sessions),
        "answers": [msgspec.structs.asdict(answer) for answer in line.answers],
    }


class Proposals(APIView):
    """List proposals."""

    @extend_schema(
        operation_id="list_proposals",
        description="The proposals that you made, that your teams answer, or that you decide when they are late.",
        responses=answers(200, forms.TeamProposalList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"proposals": [rendered(line) for line in queries.proposals(request.user)]})


class OneProposal(APIView):
    """Read or withdraw a proposal."""

    @extend_schema(
        operation_id="read_proposal",
        description="A proposal: what it changes in your teams, and what they answered.",
        parameters=[PROPOSAL],
        responses=answers(200, forms.TeamProposal, *READING),
    )
    def get(self, request: Request, proposal: str) -> Response:
        return Response(rendered(queries.proposal(request.user, identifier(proposal, UnknownProposal))))

    @extend_schema(
        operation_id="withdraw_proposal",
        description="End your own proposal.",
        parameters=[PROPOSAL],
        responses=answers(200, forms.TeamProposal, *WRITING),
    )
    def delete(self, request: Request, proposal: str) -> Response:
        row = commands.withdraw_proposal(request.user, identifier(proposal, UnknownProposal))
        return Response(rendered(queries.line_of(request.user, row)))


class ProposalAnswers(APIView):
    """Answer a proposal."""

    @extend_schema(
        operation_id="answer_proposal",
        description="Agree or reject for every team in which you hold the proposal's permission.",
        parameters=[PROPOSAL],
        request=forms.AnswerProposal,
        responses=answers(200, forms.TeamProposal, *WRITING),
    )
    def post(self, request: Request, proposal: str) -> Response:
        wanted = valid(forms.AnswerProposal, request)
        wanted.pop("key")
        answer = commands.decide_overdue if wanted.pop("for_late_teams", False) else commands.answer_proposal
        row = answer(request.user, identifier(proposal, UnknownProposal), **wanted)
        return Response(rendered(queries.line_of(request.user, row)))
