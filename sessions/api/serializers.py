"""Shapes of requests and answers of the API, one plain serializer each. Unknown fields are refused."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class Strict(serializers.Serializer[Any]):
    """A serializer that refuses fields it does not know: a misspelt optional field must not be silently ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                raise serializers.ValidationError({unknown[0]: ["This field is not known."]})
        return super().to_internal_value(data)


class ExactText(serializers.CharField):
    """Text, and only text: DRF's own field would turn numbers and booleans into it."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("Not a string.")
        return super().to_internal_value(data)


class OpenSession(Strict):
    customer = ExactText(max_length=200)
    agent = ExactText(max_length=60)
    channel = serializers.ChoiceField(choices=["phone", "chat"])
    topic = ExactText(max_length=200, required=False, allow_blank=True)
    alias = ExactText(max_length=200, required=False, allow_blank=True)
    team = ExactText(max_length=60, required=False)
    idempotency_key = ExactText(max_length=200, required=False)


class PostMessage(Strict):
    text = ExactText(max_length=16_384)
    idempotency_key = ExactText(max_length=200, required=False)


class EndSession(Strict):
    reason = ExactText(max_length=200)
    idempotency_key = ExactText(max_length=200, required=False)


class Decision(Strict):
    decision = serializers.ChoiceField(choices=["approve", "edit", "reject", "respond"])
    reason = ExactText(max_length=2000, required=False, allow_blank=True)
    arguments = serializers.DictField(required=False)
    response = ExactText(max_length=4000, required=False, allow_blank=True)
    idempotency_key = ExactText(max_length=200, required=False)


class Session(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.CharField()
    waiting_for = serializers.CharField(help_text="customer, agent, decision, retry or nobody")
    seq = serializers.IntegerField(help_text="entries so far")
    agent = serializers.CharField()
    channel = serializers.CharField()
    alias = serializers.CharField()
    tier = serializers.IntegerField()
    open_requests = serializers.IntegerField()
    opened_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    name = serializers.CharField()
    topic = serializers.CharField()
    last_role = serializers.CharField()
    last_words = serializers.CharField()


class SessionPage(serializers.Serializer[Any]):
    sessions = Session(many=True)
    next = serializers.CharField(allow_null=True, help_text="`before` of the next page")


class Receipt(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    command = serializers.UUIDField()
    first = serializers.IntegerField(help_text="seq of the first entry that the command wrote")
    seq = serializers.IntegerField(help_text="entries of the session after the command")
    repeated = serializers.BooleanField(help_text="an earlier command under the same key wrote them")


class Entry(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    kind = serializers.CharField()
    at = serializers.CharField()
    actor = serializers.CharField()
    ref = serializers.IntegerField(help_text="seq of the entry that this one answers, or -1")
    command = serializers.UUIDField()
    data = serializers.DictField(allow_null=True)


class EntryPage(serializers.Serializer[Any]):
    entries = Entry(many=True)
    next = serializers.IntegerField(allow_null=True, help_text="`after` of the next page")


class Request(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    session = serializers.UUIDField()
    state = serializers.CharField()
    tier = serializers.IntegerField()
    quorum = serializers.IntegerField()
    approvals = serializers.IntegerField()
    may_decide = serializers.BooleanField(help_text="whether you may decide it now")
    tool = serializers.CharField()
    arguments = serializers.DictField()
    preview = serializers.CharField()
    rule = serializers.CharField()
    policy = serializers.CharField()
    why = serializers.CharField()
    asked_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.CharField()
    reason = serializers.CharField()


class RequestPage(serializers.Serializer[Any]):
    requests = Request(many=True)


class Problem(serializers.Serializer[Any]):
    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField(required=False)
    field = serializers.CharField(required=False)
    remedy = serializers.CharField(required=False)
