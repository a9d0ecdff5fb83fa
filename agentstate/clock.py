"""The only clock of the application.

Deadlines are never compared with this clock but with PostgreSQL's, inside the statement that appends; what this
clock says is written into envelopes as a claim of the process that wrote them.
"""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The present instant, aware, in UTC, to the microsecond."""
    return datetime.now(UTC)


def stamp(instant: datetime) -> str:
    """`instant` as an envelope writes it: always six digits and Z, so that text order is time order."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse(text: str) -> datetime:
    """The inverse of `stamp`. Raises ValueError on any other form."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
