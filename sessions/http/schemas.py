"""The shape of a refusal."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


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
