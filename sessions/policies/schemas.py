"""Shapes of policies: versions, cases, dry runs, and grants for what follows."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agentstate.engine.decide.grants import MAX_REASON
from agentstate.engine.policy.rules import MAX_SECONDS, MAX_USES
from sessions.http.fields import ExactText, Key, Strict


class PolicySummary(serializers.Serializer[Any]):
    reference = serializers.CharField(help_text="`name@version`")
    name = serializers.CharField()
    version = serializers.IntegerField()
    versions = serializers.ListField(child=serializers.IntegerField(), help_text="the oldest first")
    rules = serializers.IntegerField()
    asking = serializers.IntegerField(help_text="rules that ask a person or hold")
    cases = serializers.IntegerField()
    failed = serializers.IntegerField()
    agents = serializers.ListField(child=serializers.CharField(), help_text="those that work under this version")
    digest = serializers.CharField(help_text="SHA-256 of its file, in hex")


class PolicyList(serializers.Serializer[Any]):
    policies = PolicySummary(many=True)


class CaseResult(serializers.Serializer[Any]):
    case = serializers.CharField()
    gate = serializers.CharField()
    tier = serializers.IntegerField()
    rule = serializers.CharField()
    fault = serializers.CharField(help_text="what it says otherwise than it must, or empty")


class ChangedRule(serializers.Serializer[Any]):
    rule = serializers.CharField()
    how = serializers.CharField(help_text="added, removed or changed")
    fields = serializers.ListField(child=serializers.CharField())  # type: ignore[assignment]  # a name that DRF has too


class PolicyRead(PolicySummary):
    policy = serializers.DictField(help_text="the version as data")
    results = CaseResult(many=True)
    before = serializers.IntegerField(help_text="the version before; 0 for none")
    changes = ChangedRule(many=True)
    fails_open = serializers.ListField(
        child=serializers.CharField(),
        help_text="where a missing value turns a rule off; only a superseded version may have any",
    )


class DryRunPolicy(Strict):
    """A version of this installation by its name, or a document: one of the two."""

    reference = ExactText(max_length=120, required=False, help_text="`name` or `name@version`")
    policy = serializers.DictField(required=False, help_text="a policy as data")
    since = serializers.DateTimeField(help_text="with its time zone")
    until = serializers.DateTimeField(required=False, help_text="with its time zone; now")
    agent = ExactText(max_length=60, required=False, help_text="only this agent's sessions")


class SaidThen(serializers.Serializer[Any]):
    gate = serializers.CharField()
    tier = serializers.IntegerField()
    rule = serializers.CharField()
    policy = serializers.CharField()
    quorum = serializers.IntegerField()


class DryRunCall(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    seq = serializers.IntegerField()
    at = serializers.CharField()
    tool = serializers.CharField()
    move = serializers.CharField(
        help_text="stopped, let through, stricter, laxer, same; unknown where the tool is gone"
    )
    was = SaidThen()
    would = SaidThen(allow_null=True)


class LeftOutLine(serializers.Serializer[Any]):
    sessions = serializers.IntegerField()
    why = serializers.CharField()


class DryRunTold(serializers.Serializer[Any]):
    policy = serializers.CharField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    sessions = serializers.IntegerField()
    entries = serializers.IntegerField()
    judged = serializers.IntegerField(help_text="calls")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="over all calls, by what is otherwise")
    rules = serializers.DictField(child=serializers.IntegerField(), help_text="calls that it would stop, by rule")
    calls = DryRunCall(many=True, help_text="those of which something else is said first; bounded")
    left_out = LeftOutLine(many=True, help_text="what was not looked at, and why")


class SessionGrant(serializers.Serializer[Any]):
    id = serializers.CharField()
    request = serializers.CharField()
    tool = serializers.CharField()
    rule = serializers.CharField()
    scope = serializers.CharField(help_text="session; customer: in all of theirs; agent: in all of its in the team")
    session = serializers.UUIDField(help_text="in which it was given")
    until = serializers.CharField()
    uses = serializers.IntegerField()
    used = serializers.IntegerField()
    limit = serializers.CharField()
    by = serializers.CharField()
    at = serializers.CharField()
    revoked_by = serializers.CharField()
    revoked_at = serializers.CharField()
    standing = serializers.CharField(help_text="open, used up, over, revoked, rolled back")


class GrantOffer(serializers.Serializer[Any]):
    request = serializers.CharField()
    tool = serializers.CharField()
    rule = serializers.CharField()
    scope = serializers.CharField()
    seconds = serializers.IntegerField()
    uses = serializers.IntegerField()
    limit = serializers.CharField()
    approvers = serializers.ListField(child=serializers.CharField())


class SessionGrants(serializers.Serializer[Any]):
    grants = SessionGrant(many=True)
    offers = GrantOffer(many=True, help_text="what who approved may grant for what follows")


class GrantSame(Strict):
    """Let the same through for what follows, for at most what the rule offers."""

    request = serializers.UUIDField(help_text="a request that was approved by you")
    seconds = serializers.IntegerField(required=False, min_value=1, max_value=MAX_SECONDS)
    uses = serializers.IntegerField(required=False, min_value=1, max_value=MAX_USES)
    reason = ExactText(max_length=MAX_REASON, required=False, allow_blank=True)
    idempotency_key = Key()


class RevokeGrant(Strict):
    reason = ExactText(max_length=MAX_REASON, required=False, allow_blank=True)
    idempotency_key = Key()
