"""The database's clock: what is due is judged by it, whatever this process's clock says."""

from __future__ import annotations

from datetime import datetime

from audit import ledger


def database_now() -> datetime:
    """The present instant by PostgreSQL."""
    found: datetime = ledger.run("SELECT clock_timestamp()", {})[0][0]
    return found
