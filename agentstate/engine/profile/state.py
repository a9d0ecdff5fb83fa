"""What is known of a customer: consents, settings, what was learned with its sources, and the derived history.

The state is immutable and bounded by the constants below: what is learned keeps its newest sources, a history its
newest records, and the marks of which entries were learned from are of the sessions that taught last.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

MOST_NAMES = 64  # settings, preferences, histories or refusals
MOST_VALUES = 6  # that compete for one preference
MOST_SOURCES = 12  # of one value: what its confidence is counted from
MOST_RECORDS = 50  # of one history
MOST_MARKS = 32  # sessions that teach side by side


class Source(msgspec.Struct, frozen=True):
    """From which entry something is known, by which rule, and how much it weighs. Feedback has no session."""

    session: str
    seq: int
    at: str
    rule: str
    weight: int = 1

    @property
    def place(self) -> tuple[str, str, int, str]:
        """By what sources are told apart and ordered, oldest first."""
        return (self.at, self.session, self.seq, self.rule)


class Learned(msgspec.Struct, frozen=True):
    """One value of a preference, how often anything spoke of it, and the newest sources."""

    value: Any
    count: int = 0
    sources: tuple[Source, ...] = ()


class Preference(msgspec.Struct, frozen=True):
    """The values that compete for one preference. `half_life` is in days, as declared when it was learned last."""

    purpose: str
    half_life: int
    learned: tuple[Learned, ...] = ()


class Setting(msgspec.Struct, frozen=True):
    """What the customer said they want. `corrects`: it took the place of what was learned."""

    value: Any
    purpose: str
    at: str
    by: str
    corrects: bool = False


class Consent(msgspec.Struct, frozen=True):
    """Whether the customer agrees to a purpose, since when, who said so, and to which declaration's words."""

    granted: bool
    at: str
    by: str
    declared: str = ""
    note: str = ""


class Refusal(msgspec.Struct, frozen=True):
    """What must not be learned: a preference, or one value of it."""

    name: str
    value: Any = None


class Record(msgspec.Struct, frozen=True):
    """One record of a history, how often it was met, and the newest entry it is known from."""

    values: dict[str, Any]
    source: Source
    count: int = 1


class History(msgspec.Struct, frozen=True):
    """Records, newest first; those of a tally are each there once, most frequent first."""

    purpose: str
    records: tuple[Record, ...] = ()


class ProfileState(msgspec.Struct, frozen=True):
    """Everything known of one customer. `seq` counts the entries of the profile's log."""

    seq: int = 0
    declared: str = ""
    opened_at: str = ""
    last_at: str = ""
    consents: dict[str, Consent] = {}
    settings: dict[str, Setting] = {}
    preferences: dict[str, Preference] = {}
    refused: tuple[Refusal, ...] = ()
    histories: dict[str, History] = {}
    marks: dict[str, int] = {}  # by session: entries up to this one were learned from
    floor: str = ""  # nothing that happened up to then is learned from any more


_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder = msgspec.json.Decoder(ProfileState, float_hook=Decimal)


def to_snapshot(state: ProfileState) -> bytes:
    """The state as bytes; `from_snapshot` is the inverse."""
    return _encoder.encode(state)


def from_snapshot(data: bytes) -> ProfileState:
    """A state read back, validated. Raises msgspec.ValidationError."""
    return _decoder.decode(data)
