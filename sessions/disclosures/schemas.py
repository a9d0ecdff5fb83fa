"""Shapes of disclosures."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.disclosures.commands import LONGEST_POINTER, LONGEST_REASON, MOST_DAYS
from sessions.disclosures.content import Standing, What
from sessions.http.fields import ExactChoice, ExactText, Key, Strict, choices
from sessions.http.values import ExactNumber
from sessions.proofs.schemas import Proof

WHAT = choices(What)
STANDING = choices(Standing)
_LAST = 2**53


class Disclose(Strict):
    """What is shared, and why."""

    what = ExactChoice(choices=WHAT)
    first = ExactNumber(required=False, min_value=0, max_value=_LAST, help_text="seq; not for a whole session")
    last = ExactNumber(required=False, min_value=0, max_value=_LAST, help_text="seq; of a range")
    pointer = ExactText(max_length=LONGEST_POINTER, required=False, help_text="of a field: as /text")
    reason = ExactText(max_length=LONGEST_REASON)
    days = ExactNumber(
        required=False, min_value=0, max_value=MOST_DAYS, help_text="until the link ends; 0, or without it: a file"
    )
    idempotency_key = Key()


class Disclosure(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    what = serializers.ChoiceField(choices=WHAT)
    first = serializers.IntegerField()
    last = serializers.IntegerField()
    pointer = serializers.CharField()
    reason = serializers.CharField(help_text="empty once the data subject was erased")
    standing = serializers.ChoiceField(choices=STANDING)
    made_by = serializers.CharField()
    made_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    opened = serializers.IntegerField(help_text="how often the link was opened")
    opened_at = serializers.DateTimeField(allow_null=True)


class Disclosures(serializers.Serializer[Any]):
    disclosures = Disclosure(many=True)


class Disclosed(serializers.Serializer[Any]):
    disclosure = Disclosure()
    address = serializers.CharField(
        allow_null=True, help_text="of the link; told now, and again for the same idempotency key"
    )
    file = Proof(allow_null=True, help_text="the document, where no link was asked for")
