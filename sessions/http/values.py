"""Fields for values as JSON has them: any value as it was sent, and whole numbers that are no text and no truth."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers


@extend_schema_field(OpenApiTypes.ANY)
class AnyValue(serializers.Field[Any, Any, Any, Any]):
    """Any JSON value, as it was sent."""

    def __init__(self, **wishes: Any) -> None:
        super().__init__(allow_null=True, **wishes)

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class ExactNumber(serializers.IntegerField):
    """A whole number, and only one as JSON writes it: DRF's own field would take text, 1.0 and true."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            raise serializers.ValidationError("Not a whole number.")
        return super().to_internal_value(data)


class Receipt(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    command = serializers.UUIDField()
    first = serializers.IntegerField(help_text="seq of the first entry that the command wrote")
    seq = serializers.IntegerField(help_text="entries of the session after the command")
    size = serializers.IntegerField(help_text="the same, as a receipt calls it")
    root = serializers.CharField(  # type: ignore[assignment]  # a name that DRF has for something else
        help_text="RFC 6962 root over these entries, in hexadecimal"
    )
    leaf = serializers.CharField(help_text="leaf hash of the last of them")


@extend_schema_field(OpenApiTypes.ANY)
class Anything(serializers.Field[Any, Any, Any, Any]):
    """Any JSON value in an answer, null among them."""
