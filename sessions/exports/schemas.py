"""Shapes of exports of many sessions."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agentstate.engine.lifecycle import SessionStatus
from sessions.core.person import MAX_REFERENCE
from sessions.exports.session import LONGEST_REASON
from sessions.http.fields import ExactChoice, ExactFlag, ExactText, Strict, choices
from sessions.models.sessions import Export as Row

SESSION_STATUS = choices(status.value for status in SessionStatus)
EXPORT_STATE = choices(state.value for state in Row.State)


class AskExport(Strict):
    """Which sessions, all of them where nothing narrows; masked unless a reason for unmasking is given."""

    team = serializers.UUIDField(required=False)
    agent = ExactText(max_length=60, required=False)
    status = ExactChoice(choices=SESSION_STATUS, required=False)
    customer = ExactText(max_length=MAX_REFERENCE, required=False, help_text="a customer's reference")
    opened_from = serializers.DateTimeField(required=False)
    opened_to = serializers.DateTimeField(required=False)
    unmask = ExactFlag(required=False, help_text="show personal values; needs the permission and a reason")
    reason = ExactText(max_length=LONGEST_REASON, required=False, help_text="recorded; no names of customers")


class Export(serializers.Serializer[Any]):
    """An export, and how far it is."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=EXPORT_STATE)
    problem = serializers.CharField(help_text="code of the refusal that ended it; else empty")
    masked = serializers.BooleanField()
    total = serializers.IntegerField(help_text="sessions")
    built = serializers.IntegerField(help_text="of them")
    size = serializers.IntegerField(help_text="bytes of the bundles so far")
    asked_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)


class ExportList(serializers.Serializer[Any]):
    """Your exports, newest first."""

    exports = Export(many=True)
