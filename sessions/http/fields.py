"""The fields of all shapes: text as it was sent, words of a list, objects that refuse what they do not know."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from sessions.core.person import MAX_REFERENCE


def choices(values: Iterable[str]) -> list[tuple[str, str]]:
    """Words as Django writes choices."""
    return [(value, value) for value in values]


class Strict(serializers.Serializer[Any]):
    """A serializer that refuses fields it does not know: a misspelt optional field must not be silently ignored."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
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


class ExactFlag(serializers.BooleanField):
    """True or false, and nothing that may mean so."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("Want true or false.")
        return data


class ShortList(serializers.ListField):
    """A list that is measured before its items are looked at, where DRF's own would say what is wrong with each."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            raise serializers.ValidationError(f"Want at most {self.max_length} items.")
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
