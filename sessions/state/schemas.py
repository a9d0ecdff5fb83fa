"""Shapes of a session's state, of changes to it, and of conflicts."""

from __future__ import annotations

from typing import Any, get_args

from rest_framework import serializers

from agentstate.engine.decide.versions import MAX_REASON
from agentstate.engine.events.scratchpad import How
from agentstate.engine.merge.kept import Standing
from agentstate.engine.merge.rules import ClashRule
from agentstate.engine.merge.three_way import MAX_PATHS
from sessions.http.fields import ExactFlag, ExactText, Key, Strict, choices
from sessions.http.values import AnyValue, ExactNumber, Receipt

MERGE_HOW = choices(get_args(How))
CLASH_RULE = choices(rule for rule in get_args(ClashRule) if rule != "refuse")
CONFLICT_STATUS = choices(get_args(Standing))
_PATH = 2_000  # characters
_ID = 60


class PathChange(Strict):
    """What one path is to hold: `value`, or with `remove` nothing."""

    path = ExactText(max_length=_PATH, help_text="e.g. state.goal")
    value = AnyValue(required=False)
    remove = ExactFlag(required=False)


class ChangeState(Strict):
    """A change of the scratchpad, by somebody who saw it after `seen` entries."""

    seen = ExactNumber(min_value=1, help_text="`seq` of the state that the change was made on")
    changes = PathChange(  # type: ignore[call-arg]  # DRF takes it with `many`
        many=True, allow_empty=False, max_length=MAX_PATHS, help_text=f"at most {MAX_PATHS}"
    )
    reason = ExactText(max_length=MAX_REASON, required=False, allow_blank=True)
    idempotency_key = Key()


class ProposeValue(Strict):
    """Another value for a contested path."""

    value = AnyValue(required=False)
    remove = ExactFlag(required=False)
    reason = ExactText(max_length=MAX_REASON, required=False, allow_blank=True)
    idempotency_key = Key()


class CastVote(Strict):
    """For which proposal; empty: for what stands."""

    proposal = ExactText(max_length=_ID, allow_blank=True)
    reason = ExactText(max_length=MAX_REASON, required=False, allow_blank=True)
    idempotency_key = Key()


class Settle(Strict):
    """Which proposal holds; empty: what stands."""

    proposal = ExactText(max_length=_ID, allow_blank=True)
    reason = ExactText(max_length=MAX_REASON)
    idempotency_key = Key()


class SessionState(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="what a change names as `seen`")
    schema = serializers.CharField(help_text="name@version, or empty where nothing is declared")
    state = serializers.DictField(help_text="the scratchpad; private values only for those who may unmask")


class Written(serializers.Serializer[Any]):
    path = serializers.CharField()
    how = serializers.ChoiceField(choices=MERGE_HOW, help_text="plain, or the type by which it was merged")
    lost = serializers.ListField(child=AnyValue(), help_text="the value that lost, if one did")


class Changed(Receipt):
    written = Written(many=True)
    conflicts = serializers.ListField(child=serializers.CharField(), help_text="ids of conflicts that it opened")


class Proposal(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="empty: what stands")
    by = serializers.CharField()
    value = serializers.ListField(child=AnyValue(), help_text="the value alone in a list; empty: none")
    reason = serializers.CharField()
    votes = serializers.IntegerField()


class Conflict(serializers.Serializer[Any]):
    id = serializers.CharField()
    path = serializers.CharField()
    rule = serializers.ChoiceField(choices=CLASH_RULE)
    quorum = serializers.IntegerField(help_text="votes for one value that settle a vote")
    status = serializers.ChoiceField(choices=CONFLICT_STATUS)
    at = serializers.DateTimeField()
    base = serializers.ListField(child=AnyValue(), help_text="the value that the change was made on")
    proposals = Proposal(many=True)
    chosen = serializers.CharField(help_text="id of the proposal that holds, or empty")
    by = serializers.CharField(help_text="who settled it, or empty")
    may_settle = serializers.BooleanField()


class ConflictList(serializers.Serializer[Any]):
    conflicts = Conflict(many=True)
