"""Shapes of sessions, their messages and entries."""

from __future__ import annotations

from typing import Any, Literal, get_args

from rest_framework import serializers

from agentstate.engine import events as ev
from agentstate.engine.decide import MAX_TEXT
from agentstate.engine.decide.looping import MAX_REASON
from agentstate.engine.lifecycle import SessionStatus
from sessions.conversation.commands import CHANNELS
from sessions.core.person import MAX_REFERENCE
from sessions.http.fields import ExactChoice, ExactText, Key, Strict, choices
from sessions.http.values import ExactNumber

WaitingFor = Literal["customer", "agent", "decision", "retry", "delegate", "resume", "colleague", "stop", "nobody"]
CHANNEL = choices(CHANNELS)
SESSION_STATUS = choices(SessionStatus)
WAITING_FOR = choices(get_args(WaitingFor))
ENTRY_KIND = choices(ev.KINDS)
GRANTED_TO = choices(("run", "session"))
MOST = 10**15  # of anything that is granted


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


class PauseSession(Strict):
    """Why it is stopped for a while."""

    reason = ExactText(max_length=MAX_REFERENCE)
    idempotency_key = Key()


class ResumeSession(Strict):
    """Nothing but a key."""

    idempotency_key = Key()


class GrantRun(Strict):
    """How much more, why, and whether to the run or to the session."""

    reason = ExactText(max_length=MAX_REASON)
    of = ExactChoice(choices=GRANTED_TO, required=False, help_text="run unless said otherwise")
    tokens = ExactNumber(min_value=0, max_value=MOST, required=False)
    micros = ExactNumber(min_value=0, max_value=MOST, required=False, help_text="millionths of the prices' currency")
    steps = ExactNumber(min_value=0, max_value=MOST, required=False, help_text="model requests")
    seconds = ExactNumber(min_value=0, max_value=MOST, required=False)
    calls = ExactNumber(min_value=0, max_value=MOST, required=False, help_text="calls that the model proposes")
    idempotency_key = Key()


class CancelSession(Strict):
    """Why it is stopped for good."""

    reason = ExactText(max_length=MAX_REFERENCE)
    idempotency_key = Key()


class Session(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=SESSION_STATUS)
    waiting_for = serializers.ChoiceField(choices=WAITING_FOR)
    seq = serializers.IntegerField(help_text="entries so far")
    agent = serializers.CharField()
    channel = serializers.ChoiceField(choices=CHANNEL)
    tier = serializers.IntegerField(help_text="the highest risk tier among its open requests, 0 to 3")
    open_requests = serializers.IntegerField()
    opened_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    parent = serializers.UUIDField(  # type: ignore[assignment]
        allow_null=True, help_text="the session whose task this one does"
    )
    fork_of = serializers.UUIDField(
        allow_null=True, help_text="the session that it is a fork of, while it may not speak or act"
    )
    customer = serializers.UUIDField(
        allow_null=True, help_text="id of the customer's profile; this and what follows is empty unless you may read"
    )
    name = serializers.CharField(help_text="the customer's")
    topic = serializers.CharField()
    alias = serializers.CharField(help_text="your id of the session")
    last_role = serializers.CharField()
    last_words = serializers.CharField()
    taken_by = serializers.CharField(help_text="who speaks instead of the agent, `queue`: nobody yet; empty: the agent")
    wanted_at = serializers.DateTimeField(allow_null=True, help_text="since when the customer asks for a person")
    assigned_to = serializers.CharField(help_text="who is to see to it")


class SessionPage(serializers.Serializer[Any]):
    sessions = Session(many=True)
    next = serializers.UUIDField(allow_null=True, help_text="`after` of the next page; null on the last")


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
