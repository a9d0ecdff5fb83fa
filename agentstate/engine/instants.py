"""How instants are written in events and envelopes: UTC, always six digits and Z, so that text order is time order."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

_EXAMPLE = "2026-11-21T03:25:00.000001Z"
_LENGTH = len(_EXAMPLE)


def stamp(instant: datetime) -> str:
    """An aware instant as text, e.g. `2026-11-21T03:25:00.000001Z`."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"


@lru_cache(maxsize=4096)  # a rule that looks at a conversation reads the same few dozen again and again
def parse(text: str) -> datetime:
    """The inverse of `stamp`. Raises ValueError on any other form."""
    if len(text) != _LENGTH or text[-1] != "Z" or text[10] != "T" or text[19] != ".":
        raise ValueError(f"got {text[:40]!r}, want the form of {_EXAMPLE}")
    return datetime.fromisoformat(text)
