"""Shapes of erasures, legal holds, retention and reports about data subjects."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from audit.erasure import BASES, MAX_REASON, State
from audit.retention import MAX_DAYS, MAX_RULES
from sessions.conversation.commands import CHANNELS
from sessions.core.person import MAX_REFERENCE
from sessions.http.fields import ExactChoice, ExactFlag, ExactText, Key, ShortList, Strict, choices

ERASURE_BASIS = choices(BASES)
ERASURE_STATE = choices([*(state.value for state in State), "running", "blocked"])
ERASURE_RULING = choices([State.APPROVED.value, State.REFUSED.value, State.WITHDRAWN.value])
CLASS_NAME = 60


class SealSession(Strict):
    """Nothing follows in the session any more."""

    idempotency_key = Key()


class OfSubject(Strict):
    """Whom it is about: a customer's reference, or a session of theirs."""

    customer = ExactText(max_length=MAX_REFERENCE, required=False)
    session = serializers.UUIDField(required=False)


class AskErasure(OfSubject):
    """Whom to erase, on which legal basis, and why."""

    basis = ExactChoice(choices=ERASURE_BASIS)
    reason = ExactText(
        max_length=MAX_REASON, help_text="your team's privacy staff read it until the erasure; no customer's name"
    )


class RuleErasure(Strict):
    """What becomes of a request. Who asked cannot approve, but withdraw."""

    state = ExactChoice(choices=ERASURE_RULING)


class Erasure(serializers.Serializer[Any]):
    """An erasure request, and how far it has come."""

    id = serializers.UUIDField()
    subject = serializers.UUIDField(help_text="id of the data subject's key")
    state = serializers.ChoiceField(choices=ERASURE_STATE)
    basis = serializers.ChoiceField(choices=ERASURE_BASIS)
    reason = serializers.CharField(help_text="empty once the subject is erased")
    asked_by = serializers.CharField()
    asked_at = serializers.DateTimeField()
    ruled_by = serializers.CharField()
    ruled_at = serializers.DateTimeField(allow_null=True)
    destroyed_at = serializers.DateTimeField(allow_null=True)
    done_at = serializers.DateTimeField(allow_null=True)
    erased = serializers.DictField(child=serializers.IntegerField(), help_text="how much, by store")


class ErasureList(serializers.Serializer[Any]):
    """Erasure requests; those that wait first."""

    erasures = Erasure(many=True)


class Hold(serializers.Serializer[Any]):
    """A legal hold."""

    id = serializers.UUIDField()
    subject = serializers.UUIDField()
    session = serializers.UUIDField(allow_null=True)
    reason = serializers.CharField()
    until = serializers.DateTimeField(allow_null=True)
    set_by = serializers.CharField()
    set_at = serializers.DateTimeField()
    lifted_by = serializers.CharField()
    lifted_at = serializers.DateTimeField(allow_null=True)
    in_force = serializers.BooleanField()


class HoldList(serializers.Serializer[Any]):
    """Legal holds, newest first."""

    holds = Hold(many=True)


class ErasureDetail(serializers.Serializer[Any]):
    """A request with what an approval would erase, by store, and what blocks it."""

    erasure = Erasure()
    stores = serializers.DictField(child=serializers.IntegerField())
    sessions = serializers.ListField(child=serializers.UUIDField())
    holds = Hold(many=True)


class SetHold(OfSubject):
    """Whom or what to keep. With `only_session`, nothing but that session."""

    only_session = ExactFlag(required=False)
    reason = ExactText(
        max_length=MAX_REASON, help_text="your team's privacy staff read it until the erasure; no customer's name"
    )
    until = serializers.DateTimeField(required=False, help_text="until it is lifted, if left out")


class RetentionClass(Strict):
    """Days that the words of a session are kept after its end."""

    name = ExactText(max_length=CLASS_NAME)
    days = serializers.IntegerField(min_value=0, max_value=MAX_DAYS)


class RetentionRule(Strict):
    """What belongs to a class; what is left out fits everything."""

    retention = ExactText(max_length=CLASS_NAME)
    team = serializers.UUIDField(required=False)
    agent = ExactText(max_length=60, required=False)
    channel = ExactChoice(choices=choices(CHANNELS), required=False)


class Retention(Strict):
    """All classes, and all rules: the first that fits decides."""

    classes = ShortList(child=RetentionClass(), max_length=MAX_RULES)
    rules = ShortList(child=RetentionRule(), max_length=MAX_RULES)


class PruningDue(serializers.Serializer[Any]):
    """A session whose term is over."""

    session = serializers.UUIDField()
    retention = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True, help_text="null: it goes on, and loses its oldest words")
    upto = serializers.IntegerField(help_text="of so many entries, from the first; 0: of all")
    due_at = serializers.DateTimeField()
    payloads = serializers.IntegerField()
    held = serializers.BooleanField(help_text="a legal hold keeps it")
    others = serializers.BooleanField(help_text="it goes on and holds data of other data subjects: it is left out")


class PruningList(serializers.Serializer[Any]):
    """What the next run prunes."""

    sessions = PruningDue(many=True)


class ProposeReport(OfSubject):
    """On whom other teams are asked for their part of your reports, and why."""

    reason = ExactText(max_length=MAX_REASON)


class SubjectReport(serializers.Serializer[Any]):
    """Everything held about one data subject."""

    subject = serializers.UUIDField()
    made_at = serializers.CharField()
    outstanding = serializers.BooleanField(help_text="parts are missing: other teams hold them and have not agreed")
    logs = serializers.ListField(child=serializers.DictField())
    waiting = serializers.ListField(child=serializers.DictField(), help_text="what waits for triggers")
    stores = serializers.DictField(child=serializers.IntegerField())
    holds = serializers.ListField(child=serializers.DictField())
    erasures = serializers.ListField(child=serializers.DictField())
