"""The only clock of the application.

Deadlines are never compared with this clock but with PostgreSQL's, inside the statement that appends; what this clock
says is written into envelopes (see `agentstate.engine.instants`) as a claim of the process that wrote them.
"""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The present instant, aware, in UTC, to the microsecond."""
    return datetime.now(UTC)
