"""Shapes of requests and answers of the API, one plain serializer each.

The shapes of requests check: types exactly as JSON has them, unknown fields refused. The shapes of answers document;
what is answered is filled in by `sessions.api.views` field by field, so that numbers keep their digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

from rest_framework import serializers

from agentstate.engine import events as ev
from agentstate.engine.decide import MAX_TEXT
from agentstate.engine.lifecycle import RequestStatus, SessionStatus
from sessions.commands import CHANNELS, MAX_REFERENCE

WaitingFor = Literal["customer", "agent", "decision", "retry", "nobody"]
REASON = 2000  # characters
RESPONSE = 4000


def _choices(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


# Named in the OpenAPI document by SPECTACULAR_SETTINGS["ENUM_NAME_OVERRIDES"].
CHANNEL = _choices(CHANNELS)
DECISION_KIND = _choices(get_args(ev.DecisionKind))
SESSION_STATUS = _choices(SessionStatus)
REQUEST_STATE = _choices(RequestStatus)
WAITING_FOR = _choices(get_args(WaitingFor))
ENTRY_KIND = _choices(ev.KINDS)


class Strict(serializers.Serializer[Any]):
    """A serializer that refuses fields it does not know: a misspelt optional field must not be silently ignored."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields))
        if unknown:
            raise serializers.ValidationError({name[:60]: ["This field is not known."] for name in unknown[:5]})
        return super().to_internal_value(data)


class ExactText(serializers.CharField):
    """Text, and only text, as it was sent: DRF's own field would turn numbers into it and trim its ends."""

    def __init__(self, **wishes: Any) -> None:
        least = None if wishes.get("allow_blank") else 1
        super().__init__(trim_whitespace=False, min_length=least, **wishes)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("Not a string.")
        return super().to_internal_value(data)


class ExactChoice(serializers.ChoiceField):
    """One of a few words. The refusal names them, and does not repeat what was sent."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError(f"Want one of {', '.join(map(str, self.choices))}.")
        return data


class Key(ExactText):
    """The client's own name for this command: sent again under the same name, it is carried out once."""

    def __init__(self) -> None:
        super().__init__(
            max_length=MAX_REFERENCE,
            required=False,
            help_text="Sent again with the same key, a command gets its first answer and is not carried out again.",
        )


class OpenSession(Strict):
    """Who calls, and which agent answers."""

    customer = ExactText(max_length=MAX_REFERENCE, help_text="the customer's id in your own records")
    agent = ExactText(max_length=60, help_text="name of the agent that is to speak")
    channel = ExactChoice(choices=CHANNEL)
    topic = ExactText(max_length=MAX_REFERENCE, required=False, allow_blank=True)
    alias = ExactText(max_length=MAX_REFERENCE, required=False, allow_blank=True, help_text="your id of the session")
    team = ExactText(max_length=60, required=False, help_text="needed when you may open sessions in several")
    idempotency_key = Key()


class PostMessage(Strict):
    """What the customer says."""

    text = ExactText(max_length=MAX_TEXT)
    idempotency_key = Key()


class EndSession(Strict):
    """Why the conversation is over."""

    reason = ExactText(max_length=MAX_REFERENCE)
    idempotency_key = Key()


class Decision(Strict):
    """What a person decides, and why."""

    decision = ExactChoice(choices=DECISION_KIND)
    reason = ExactText(max_length=REASON, required=False, allow_blank=True, help_text="needed to reject or to edit")
    arguments = serializers.DictField(required=False, help_text="of an edit: all arguments of the call, as corrected")
    response = ExactText(
        max_length=RESPONSE, required=False, allow_blank=True, help_text="of `respond`: the answer to the agent"
    )
    seen = ExactText(
        max_length=64,
        required=False,
        help_text="`digest` of the request as you saw it; needed once somebody has edited it",
    )
    idempotency_key = Key()


class Session(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=SESSION_STATUS)
    waiting_for = serializers.ChoiceField(choices=WAITING_FOR)
    seq = serializers.IntegerField(help_text="entries so far")
    agent = serializers.CharField()
    channel = serializers.ChoiceField(choices=CHANNEL)
    alias = serializers.CharField()
    tier = serializers.IntegerField(help_text="the highest risk tier among its open requests, 0 to 3")
    open_requests = serializers.IntegerField()
    opened_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    name = serializers.CharField(help_text="the customer's; this and what follows is empty unless you may read")
    topic = serializers.CharField()
    last_role = serializers.CharField()
    last_words = serializers.CharField()


class SessionPage(serializers.Serializer[Any]):
    sessions = Session(many=True)
    next = serializers.UUIDField(allow_null=True, help_text="`after` of the next page; null on the last")


class Receipt(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    command = serializers.UUIDField()
    first = serializers.IntegerField(help_text="seq of the first entry that the command wrote")
    seq = serializers.IntegerField(help_text="entries of the session after the command")


class Entry(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=ENTRY_KIND)
    at = serializers.DateTimeField()
    actor = serializers.CharField(help_text="user:<id>, agent:<name> or system")
    ref = serializers.IntegerField(help_text="seq of the entry that this one answers, or -1")
    command = serializers.UUIDField()
    data = serializers.DictField(  # type: ignore[assignment]  # a name that DRF has for something else
        allow_null=True, help_text="null once the customer was erased"
    )


class EntryPage(serializers.Serializer[Any]):
    entries = Entry(many=True)
    next = serializers.IntegerField(allow_null=True, help_text="`after` of the next page; null on the last")


class Request(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    session = serializers.UUIDField()
    state = serializers.ChoiceField(choices=REQUEST_STATE)
    tier = serializers.IntegerField(help_text="risk tier, 0 to 3, as policy computed it")
    quorum = serializers.IntegerField(help_text="people who must approve")
    approvals = serializers.IntegerField(help_text="people who have approved")
    may_decide = serializers.BooleanField(help_text="whether you may decide it now")
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
    digest = serializers.CharField(help_text="of all that the request shows now: what a decision names as `seen`")


class RequestPage(serializers.Serializer[Any]):
    requests = Request(many=True)
    next = serializers.UUIDField(allow_null=True, help_text="`after` of the next page; null on the last")


class Wrong(serializers.Serializer[Any]):
    field = serializers.CharField()
    detail = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """A refusal (RFC 9457). Some carry more: `permission`, or `outcome`, `by`, `by_name`, `at` of a decision."""

    type = serializers.CharField(help_text="urn:agentstate:problem: and the code")
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField(help_text="the same for every refusal of this kind; for programs")
    detail = serializers.CharField(required=False)
    field = serializers.CharField(required=False, help_text="dotted path of the field or parameter that is wrong")
    remedy = serializers.CharField(required=False)
    errors = Wrong(  # type: ignore[assignment]
        many=True, required=False, help_text="every field that is wrong, where there may be several"
    )
