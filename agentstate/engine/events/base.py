"""What all events share: their base, the words that several use, and the digest of a value."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

Role = Literal["customer", "agent", "staff", "note"]
DecisionKind = Literal["approve", "edit", "reject", "respond", "ignore", "escalate"]
Outcome = Literal[
    "approved",
    "edited",
    "rejected",
    "responded",
    "ignored",
    "expired",
    "withdrawn",
    "superseded",
    "failed",
    "unopposed",
]
Arguments = dict[str, Any]

_sorting_encoder = msgspec.json.Encoder(decimal_format="number", order="sorted")


class Event(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """The base of all events. The tag is the kind that the envelope shows; `v` is the version of the form."""


def kind_of(event: Event) -> str:
    """The event's kind, e.g. `tool.intended`."""
    return str(event.__struct_config__.tag)


def digest(*parts: Any) -> str:
    """SHA-256, in hex, over the JSON of `parts` with sorted keys: equal values give equal digests."""
    return hashlib.sha256(_sorting_encoder.encode(parts)).hexdigest()
