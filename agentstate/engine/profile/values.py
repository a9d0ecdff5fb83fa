"""What kind of value a preference has, and what is none of it.

Kinds are few and small, so that a page can draw a field for each, and so that no word a customer said can reach an
agent's instructions by way of a preference: only `Words` holds free text, and instructions may not quote it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from agentstate.errors import Invalid

LONGEST_TEXT = 200  # characters of a preference's words
MOST_OPTIONS = 50
LARGEST = 2**53 - 1  # a JSON number that every reader keeps
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TEXT)]
Number = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class BadValue(Invalid):
    """This is no value for this preference."""

    code = "bad_value"


class Kind(msgspec.Struct, frozen=True, tag_field="is", forbid_unknown_fields=True):
    """The base of the kinds: each has `fault(value)`, which says why a value is none of its own, or nothing."""


class Choice(Kind, frozen=True, tag="choice"):
    """One of a few words."""

    options: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=MOST_OPTIONS)]

    def fault(self, value: object) -> str:
        return "" if isinstance(value, str) and value in self.options else f"want one of {', '.join(self.options)}"


class Flag(Kind, frozen=True, tag="flag"):
    """Yes or no."""

    def fault(self, value: object) -> str:
        return "" if isinstance(value, bool) else "want true or false"


class Whole(Kind, frozen=True, tag="whole"):
    """A whole number between two others, both included."""

    low: Number
    high: Number

    def fault(self, value: object) -> str:
        held = isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high
        return "" if held else f"want a whole number from {self.low} to {self.high}"


class Amount(Kind, frozen=True, tag="amount"):
    """An amount of money: minor units, between two others, of one currency."""

    currency: Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}\Z")]
    low: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
    high: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]

    def fault(self, value: object) -> str:
        wanted = f"want {{minor, currency}} with minor from {self.low} to {self.high} {self.currency}"
        if not isinstance(value, dict) or value.keys() != {"minor", "currency"}:
            return wanted
        minor = value["minor"]
        whole = isinstance(minor, int) and not isinstance(minor, bool) and self.low <= minor <= self.high
        return "" if whole and value["currency"] == self.currency else wanted


class Reference(Kind, frozen=True, tag="reference"):
    """A number or name that a machine gave: letters, digits, dots and dashes."""

    def fault(self, value: object) -> str:
        return "" if isinstance(value, str) and _REFERENCE.fullmatch(value) else "want a reference such as A-1"


class Words(Kind, frozen=True, tag="words"):
    """Free text, bounded."""

    longest: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_TEXT)] = LONGEST_TEXT

    def fault(self, value: object) -> str:
        held = isinstance(value, str) and value.strip() and len(value) <= self.longest
        return "" if held else f"want words, at most {self.longest} characters"


AnyKind = Choice | Flag | Whole | Amount | Reference | Words

_keys = msgspec.json.Encoder(order="sorted")


def check(kind: AnyKind, value: object, field: str = "value") -> None:
    """Return if `value` is of `kind`, else raise BadValue saying what is wanted."""
    fault = kind.fault(value)
    if fault:
        raise BadValue(fault, field=field)


def key_of(value: Any) -> str:
    """By what two values are the same: true is not 1, and an object's order says nothing."""
    return _keys.encode(value).decode()
