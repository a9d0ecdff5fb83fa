"""How instants are written in events and envelopes: UTC, always six digits and Z, so that text order is time order."""

from __future__ import annotations

from datetime import UTC, datetime

_FORM = "%Y-%m-%dT%H:%M:%S.%fZ"


def stamp(instant: datetime) -> str:
    """An aware instant as text, e.g. `2026-11-21T03:25:00.000001Z`."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"


def parse(text: str) -> datetime:
    """The inverse of `stamp`. Raises ValueError on any other form."""
    return datetime.strptime(text, _FORM).replace(tzinfo=UTC)
