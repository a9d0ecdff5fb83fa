"""Shapes of delegations of authority."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agentstate.people.delegations import MAX_REASON
from agentstate.people.roles import DELEGABLE
from sessions.http.fields import ExactChoice, ExactText, ShortList, Strict, choices

DELEGATED = choices(DELEGABLE)


class GiveDelegation(Strict):
    """To whom you lend your right to decide, and until when."""

    receiver = serializers.UUIDField(help_text="a colleague who reads the team's sessions")
    team = serializers.UUIDField()
    permissions = ShortList(child=ExactChoice(choices=DELEGATED), max_length=len(DELEGABLE))
    until = serializers.DateTimeField(help_text="with its time zone")
    reason = ExactText(
        max_length=MAX_REASON,
        help_text="your colleague, the team's admins and auditors read it; write no customer's name",
    )


class Delegation(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    giver = serializers.UUIDField()
    receiver = serializers.UUIDField()
    team = serializers.UUIDField()
    permissions = serializers.ListField(child=serializers.CharField())
    until = serializers.DateTimeField()
    reason = serializers.CharField()
    revoked_at = serializers.DateTimeField(allow_null=True)


class DelegationList(serializers.Serializer[Any]):
    delegations = Delegation(many=True)
