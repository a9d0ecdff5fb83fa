"""Shapes of proposals and of what teams answer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.http.fields import ExactFlag, ExactText, Key, Strict, choices
from sessions.models.proposals import Proposal as Row
from sessions.proposals.kinds import KINDS
from sessions.proposals.workflow import MAX_REASON

PROPOSAL_KIND = choices(KINDS)
PROPOSAL_STATE = choices(Row.State.values)


class AnswerProposal(Strict):
    """Whether a person's teams agree, or the teams that are late."""

    agrees = ExactFlag()
    reason = ExactText(max_length=MAX_REASON, required=False, help_text="needed to reject")
    for_late_teams = ExactFlag(required=False, help_text="answer for the teams that are late; needs `decide_overdue`")
    idempotency_key = Key()


class TeamProposalAnswer(serializers.Serializer[Any]):
    """What one team answered last."""

    team = serializers.UUIDField()
    team_name = serializers.CharField()
    agrees = serializers.BooleanField(allow_null=True, help_text="null: the team has not answered")
    by = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()
    for_team = serializers.BooleanField(help_text="the privacy officer answered for the team")


class TeamProposal(serializers.Serializer[Any]):
    """A change that takes effect once every team concerned agrees."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=PROPOSAL_KIND)
    title = serializers.CharField()
    state = serializers.ChoiceField(choices=PROPOSAL_STATE)
    reason = serializers.CharField()
    by = serializers.CharField()
    at = serializers.DateTimeField()
    answer_by = serializers.DateTimeField(help_text="from then on the privacy officer decides for late teams")
    due_at = serializers.DateTimeField(allow_null=True, help_text="when it takes effect, once all teams agree")
    ended_at = serializers.DateTimeField(allow_null=True)
    ended_by = serializers.CharField()
    ended_why = serializers.CharField(help_text="code of the refusal that made it outdated, or empty")
    second_person = serializers.BooleanField(help_text="a person other than the proposer must agree")
    changes = serializers.ListField(child=serializers.CharField(), help_text="what it changes in your teams")
    customer = serializers.UUIDField(allow_null=True, help_text="whose profile it changes, if you may read it")
    erasure = serializers.UUIDField(allow_null=True, help_text="the erasure request that it is about")
    sessions = serializers.ListField(
        child=serializers.UUIDField(), help_text="of your teams, with data of the subject; empty in lists"
    )
    answers = TeamProposalAnswer(many=True, help_text="of your teams")
    others_outstanding = serializers.IntegerField(help_text="other teams that have not answered")
    may_answer = serializers.BooleanField()
    may_decide_overdue = serializers.BooleanField()
    may_withdraw = serializers.BooleanField()


class TeamProposalList(serializers.Serializer[Any]):
    """Proposals, those that wait for you first."""

    proposals = TeamProposal(many=True)
