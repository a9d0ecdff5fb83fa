"""Shapes of checkpoints, rollbacks, forks and differences."""

from __future__ import annotations

from typing import Any, get_args

from rest_framework import serializers

from agentstate.engine.decide import MAX_TEXT
from agentstate.engine.decide.versions import MAX_NAME, MAX_REASON
from agentstate.engine.versions.kept import Why
from agentstate.engine.versions.replay import MAX_INPUTS, Assume, GateKind
from sessions.http.fields import ExactChoice, ExactText, Key, Strict, choices
from sessions.http.values import AnyValue, ExactNumber

CHECKPOINT_WHY = choices(get_args(Why))
ASSUME = choices(get_args(Assume))
GATE_KIND = choices(get_args(GateKind))
EFFECT_OUTCOME = choices(("done", "failed", "unknown"))


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
    session = serializers.CharField(help_text="the session that did it for this one, or empty; `seq` is of its log")


class Consequences(serializers.Serializer[Any]):
    to = serializers.IntegerField()
    digest = serializers.CharField(help_text="what `confirm` names")
    withdrawn = serializers.ListField(child=serializers.CharField(), help_text="requests that would be withdrawn")
    running = serializers.ListField(
        child=serializers.CharField(), help_text="calls whose results would be recorded and change nothing"
    )
    not_begun = serializers.ListField(
        child=serializers.CharField(), help_text="approved or allowed calls that have not begun, and would be withdrawn"
    )
    standing_approvals = serializers.ListField(
        child=serializers.CharField(),
        help_text="standing approvals for a customer or an agent that were given since, and would end",
    )
    lasting = Effect(many=True, help_text="what is not undone, oldest first; the newest hundred")
    more = serializers.IntegerField(help_text="how many older effects are not undone")


class Difference(serializers.Serializer[Any]):
    patch = serializers.ListField(
        child=serializers.DictField(), help_text="JSON Patch (RFC 6902) that makes the second state of the first"
    )
    sentences = serializers.ListField(child=serializers.CharField())


class ReplayInput(Strict):
    """Another value in the place of a recorded one."""

    seq = ExactNumber(min_value=0, help_text="of the entry: a message of the customer, or a tool's result")
    text = ExactText(max_length=MAX_TEXT, required=False)
    result = AnyValue(required=False)


class Replay(Strict):
    """Under which policy, with which inputs."""

    policy = serializers.DictField(
        required=False, help_text="a whole policy: name, version, rules; without it, today's policy"
    )
    inputs = ReplayInput(  # type: ignore[call-arg]  # DRF takes it with `many`
        many=True, required=False, max_length=MAX_INPUTS, help_text=f"at most {MAX_INPUTS}"
    )
    assume = ExactChoice(
        choices=ASSUME, required=False, help_text="what people would have decided where nobody was asked; `approve`"
    )


class ReplayedGate(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=GATE_KIND)
    rule = serializers.CharField()
    tier = serializers.IntegerField()
    quorum = serializers.IntegerField()
    why = serializers.CharField()


class ReplayedCall(serializers.Serializer[Any]):
    call = serializers.CharField()
    tool = serializers.CharField()
    seq = serializers.IntegerField(help_text="of the entry that proposed it")
    arguments = serializers.DictField()
    recorded = ReplayedGate()
    replayed = ReplayedGate()
    ended = serializers.CharField()
    would_end = serializers.CharField()
    unknown = serializers.BooleanField(help_text="it would have run, and nobody knows what it would have returned")


class Replayed(serializers.Serializer[Any]):
    policy = serializers.CharField()
    calls = ReplayedCall(many=True, help_text="those of which something else would have become")
    from_seq = serializers.IntegerField(
        help_text="entry from which on the record is an assumption: the model might have said something else; -1: none"
    )
    not_needed = serializers.IntegerField(help_text="decisions that nobody would have had to make")
    not_made = serializers.IntegerField(help_text="decisions that were assumed")
    left_out = serializers.DictField(help_text="entries that could not have been, by kind")
    patch = serializers.ListField(child=serializers.DictField(), help_text="from the state as it is (RFC 6902)")
    sentences = serializers.ListField(child=serializers.CharField())
