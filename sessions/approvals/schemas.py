"""Shapes of approval requests and decisions."""

from __future__ import annotations

from typing import Any, get_args

from rest_framework import serializers

from agentstate.engine import events as ev
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.state.session import Execution
from sessions.approvals.differences import Kind
from sessions.http.fields import ExactChoice, ExactFlag, ExactText, Key, Strict, choices

REASON = 2000  # characters
RESPONSE = 4000
DECISION_KIND = choices(get_args(ev.DecisionKind))
REQUEST_STATE = choices(RequestStatus)
EXECUTION = choices(get_args(Execution))


class Decision(Strict):
    """What a person decides, and why."""

    decision = ExactChoice(choices=DECISION_KIND)
    reason = ExactText(
        max_length=REASON, required=False, allow_blank=True, help_text="needed to reject, edit or escalate"
    )
    arguments = serializers.DictField(required=False, help_text="of an edit: all arguments of the call, as corrected")
    response = ExactText(
        max_length=RESPONSE, required=False, allow_blank=True, help_text="of `respond`: the answer to the agent"
    )
    seen = ExactText(
        max_length=64,
        required=False,
        help_text="`digest` of the request as you saw it; another is refused as outdated. Needed once it was edited",
    )
    code = ExactText(max_length=100, required=False, help_text="one of `terms.reasons`, where there are any")
    retyped = serializers.DictField(
        required=False, help_text="by path, each of `terms.retype`: the value as you typed it yourself"
    )
    idempotency_key = Key()


class Undo(Strict):
    """To object while it is held."""

    reason = ExactText(max_length=REASON, required=False, allow_blank=True)
    idempotency_key = Key()


class Claim(Strict):
    """To be on a request."""

    take = ExactFlag(required=False, help_text="also from a colleague who is on it; that is recorded")
    idempotency_key = Key()


class KeepClaim(Strict):
    """To stay on a request."""


class Kept(serializers.Serializer[Any]):
    until = serializers.DateTimeField(help_text="when the claim ends unless it is kept again")


GROUPS = "one of each group: role:..., team:..., user:..."


def _groups() -> serializers.ListField:
    return serializers.ListField(child=serializers.ListField(child=serializers.CharField()), help_text=GROUPS)


class Escalation(serializers.Serializer[Any]):
    after = serializers.IntegerField(help_text="seconds that the request has waited")
    reviewers = _groups()


class Grantable(serializers.Serializer[Any]):
    scope = serializers.CharField()
    seconds = serializers.IntegerField()
    uses = serializers.IntegerField()
    limit = serializers.CharField(help_text="expression that must be true of each call")


class Editable(serializers.Serializer[Any]):
    path = serializers.CharField()
    only = serializers.CharField(help_text="down or up: a number may go this way alone; empty: any value")


class Terms(serializers.Serializer[Any]):
    gate = serializers.CharField(help_text="approve, or hold: it is done by itself when its time is over")
    hold = serializers.IntegerField(help_text="seconds between approval and execution, in which it can be undone")
    reviewers = _groups()
    four_eyes = serializers.BooleanField(
        help_text="no edit counts, and not by the person to whom the session is assigned"
    )
    reasons = serializers.ListField(child=serializers.CharField(), help_text="codes; where there are any, name one")
    retype = serializers.ListField(
        child=serializers.CharField(), help_text="paths of arguments that you type yourself to approve"
    )
    chain = Escalation(many=True, help_text="for whom it is when nobody has decided")
    sticky = Grantable(allow_null=True, help_text="what an approver may grant for what follows")
    edits = Editable(many=True, help_text="the arguments whose edit counts as your own approval")
    proposer_may_approve = serializers.BooleanField(help_text="who proposed it may approve it; never at tier 3")


class Request(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    session = serializers.UUIDField()
    state = serializers.ChoiceField(choices=REQUEST_STATE)
    tier = serializers.IntegerField(help_text="risk tier, 0 to 3, as policy computed it")
    quorum = serializers.IntegerField(help_text="people who must approve")
    approvals = serializers.IntegerField(help_text="people who have approved")
    approvers_missing = serializers.IntegerField(
        help_text="people too few could approve it when it was made: above 0 the team's deputies may approve it too"
    )
    too_few = serializers.CharField(
        help_text="the same as a sentence, while it waits with the deputies for whom it is; empty: enough people could "
        "approve it"
    )
    may_decide = serializers.BooleanField(help_text="whether you may decide it now")
    may_reject = serializers.BooleanField(help_text="while you may not approve it: whether you may reject it")
    why_not = serializers.CharField(help_text="while it waits and you may not decide it: why not, in a sentence")
    who_may = serializers.ListField(
        child=serializers.CharField(), help_text="while it waits for others: by name, who may decide it"
    )
    assigned_to = serializers.CharField(help_text="who is to see to it: user:<id>, team:<slug>, or empty")
    tool = serializers.CharField()
    arguments = serializers.DictField(help_text="of the call, as they would run")
    preview = serializers.CharField(help_text="what would happen, in plain words")
    rule = serializers.CharField(help_text="the rule that asks for a person")
    policy = serializers.CharField()
    why = serializers.CharField()
    asked_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.CharField(help_text="user:<id>, or empty")
    reason = serializers.CharField()
    execution = serializers.ChoiceField(
        choices=EXECUTION,
        help_text="what came of the call once it was approved: `withdrawn` and `refused` are approved and not done",
    )
    because = serializers.CharField(
        help_text="why the request ended without a decision, or why what was approved is not done"
    )
    claimed_by = serializers.CharField(help_text="user:<id> of who is on it, or empty")
    claimed_until = serializers.DateTimeField(allow_null=True, help_text="when that ends unless it is kept")
    held_until = serializers.DateTimeField(
        allow_null=True, help_text="it is done then by itself unless somebody rejects or undoes it"
    )
    escalates_at = serializers.DateTimeField(allow_null=True, help_text="it goes to the next of its chain then")
    reviewers = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="one of each group must decide: role:..., team:..., user:...; none: whoever has the permission",
    )
    terms = Terms(help_text="what is asked of those who decide")
    proposed_by = serializers.ListField(
        child=serializers.CharField(), help_text="who proposed the call or an argument: user:<id>, or agent:<name>"
    )
    digest = serializers.CharField(help_text="of all that the request shows now: what a decision names as `seen`")


class SaidValue(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="the entry in which the customer last said it")
    value = serializers.JSONField(help_text="an amount {minor, currency}, or an account as text")


class RequestDifference(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="of the value in the call: arguments.amount")
    kind = serializers.ChoiceField(
        choices=[(kind, kind) for kind in get_args(Kind) if kind != "changed"],
        help_text="not_said: nothing comparable was said; differs: only other values were; corrected: another was said "
        "later; ambiguous: the newest words name this one and another",
    )
    sends = serializers.JSONField(help_text="the value that the call sends")
    said = SaidValue(many=True, help_text="the other values that were said, the newest first")


class OneRequest(Request):
    """A request with how it differs from what the customer said."""

    differences = RequestDifference(
        many=True,
        help_text="amounts and payees that were not found in the customer's words, or differ from them; none does not "
        "mean that the call is right. While it waits, values of `terms.retype` are left out",
    )


class RequestPage(serializers.Serializer[Any]):
    requests = Request(many=True)
    next = serializers.UUIDField(allow_null=True, help_text="`after` of the next page; null on the last")
