"""Shapes of proofs, and of what a check of one finds."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.http.fields import ExactText, Key, Strict, choices
from sessions.http.values import AnyValue, ExactNumber

PROOF_KIND = choices(("entry", "range", "session", "absence", "consistency"))
MAX_VKEY = 500  # characters


class Proof(serializers.Serializer[Any]):
    """A document that stands alone: kept as it came, byte for byte, `audit/verify.py` checks it."""

    format = serializers.CharField()
    kind = serializers.ChoiceField(choices=PROOF_KIND)
    log = serializers.DictField(help_text="the global log's signed head, and rotations of its key")


class TlogProof(serializers.Serializer[Any]):
    entry = serializers.CharField(help_text="C2SP tlog-proof of the entry's envelope under the session's signed head")
    head = serializers.CharField(help_text="C2SP tlog-proof of that head in the global log")
    receipt = serializers.CharField(help_text="the same as a COSE receipt (RFC 9942), in base64")


class CheckProof(Strict):
    """A proof, and whose key it is held against."""

    proof = AnyValue(help_text="a proof document as object or as text, or a tlog-proof as text")
    vkey = ExactText(max_length=MAX_VKEY, required=False, help_text="a log's key; without it, this log's own")
    session = ExactText(max_length=36, required=False, help_text="the session that it has to be about")


class ProveValue(Strict):
    """A place of the state, now or after so many entries."""

    path = ExactText(max_length=400, help_text="state.<name>[.<name>...]")
    of = ExactNumber(required=False, min_value=1, max_value=2**53, help_text="entries; without it, the state now")
    idempotency_key = Key()


class CheckFailure(serializers.Serializer[Any]):
    check = serializers.CharField()
    message = serializers.CharField()


class Checked(serializers.Serializer[Any]):
    ok = serializers.BooleanField()
    failures = CheckFailure(many=True)
    key = serializers.CharField(help_text="the vkey that it was held against")
    session = serializers.CharField(help_text="the session that it is about, or empty")
    size = serializers.IntegerField(help_text="entries of the session under the head that it rests on, or 0")
    proof = serializers.DictField(allow_null=True, help_text="what it proves; null where it proves nothing")
