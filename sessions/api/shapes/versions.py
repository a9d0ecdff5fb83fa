"""Shapes of checkpoints, rollbacks, forks and differences."""

from __future__ import annotations

from typing import Any, get_args

from rest_framework import serializers

from agentstate.engine.decide.versions import MAX_NAME, MAX_REASON
from agentstate.engine.versions.kept import Why
from sessions.api.shapes.fields import ExactText, Key, Strict, choices

CHECKPOINT_WHY = choices(get_args(Why))
EFFECT_OUTCOME = choices(("done", "failed", "unknown"))


class ExactNumber(serializers.IntegerField):
    """A whole number, and only one as JSON writes it: DRF's own field would take text, 1.0 and true."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            raise serializers.ValidationError("Not a whole number.")
        return super().to_internal_value(data)


class NameCheckpoint(Strict):
    """A name for a point of the session."""

    name = ExactText(max_length=MAX_NAME)
    seq = ExactNumber(
        min_value=1, required=False, help_text="the state after so many entries; without it, as it is now"
    )
    idempotency_key = Key()


class Rollback(Strict):
    """Where to go back to. Without `confirm` nothing is done: the answer says what would be."""

    to = ExactNumber(min_value=1, help_text="go on from the state after so many entries")
    confirm = ExactText(max_length=64, required=False, help_text="`digest` of the consequences as you saw them")
    reason = ExactText(max_length=MAX_REASON, required=False, help_text="needed to confirm")
    idempotency_key = Key()


class ForkSession(Strict):
    """From where to try another way."""

    seq = ExactNumber(
        min_value=1, required=False, help_text="the state after so many entries; without it, as it is now"
    )
    reason = ExactText(max_length=MAX_REASON)
    idempotency_key = Key()


class PromoteFork(Strict):
    """Why the fork takes its parent's place."""

    reason = ExactText(max_length=MAX_REASON)
    idempotency_key = Key()


class Checkpoint(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="the state after so many entries")
    why = serializers.ChoiceField(choices=CHECKPOINT_WHY)
    at = serializers.DateTimeField()
    name = serializers.CharField()
    digest = serializers.CharField(help_text="of the state, where somebody named it")
    by = serializers.CharField(help_text="user:<id>, or empty")


class Versions(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="entries so far")
    epoch = serializers.IntegerField(help_text="raised by every rollback")
    checkpoints = Checkpoint(many=True, help_text="newest first")
    forked_from = serializers.CharField(help_text="the session that this one was forked from, or empty")
    forked_at = serializers.IntegerField(help_text="the state of that session after so many entries")
    draft = serializers.BooleanField(help_text="a fork that may not speak or act")
    superseded_by = serializers.CharField(help_text="the fork that goes on in its place, or empty")
    forks = serializers.ListField(child=serializers.UUIDField(), help_text="forks of it that nobody has promoted")


class Effect(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="of the entry that began it")
    call = serializers.CharField()
    tool = serializers.CharField()
    outcome = serializers.ChoiceField(choices=EFFECT_OUTCOME)
    arguments = serializers.DictField()
    what = serializers.CharField(help_text="in the tool's words")
    compensation = serializers.CharField(help_text="what can be done about it, as the tool declares")


class Consequences(serializers.Serializer[Any]):
    to = serializers.IntegerField()
    digest = serializers.CharField(help_text="what `confirm` names")
    withdrawn = serializers.ListField(child=serializers.CharField(), help_text="requests that would be withdrawn")
    running = serializers.ListField(
        child=serializers.CharField(), help_text="calls whose results would be recorded and change nothing"
    )
    lasting = Effect(many=True, help_text="what is not undone, oldest first; the newest hundred")
    more = serializers.IntegerField(help_text="how many older effects are not undone")


class Difference(serializers.Serializer[Any]):
    patch = serializers.ListField(
        child=serializers.DictField(), help_text="JSON Patch (RFC 6902) that makes the second state of the first"
    )
    sentences = serializers.ListField(child=serializers.CharField())
