"""Cells and a log in two tables of any DB-API database with `?` for parameters, sqlite3 for one.

The connection is the caller's: opened, in autocommit, and closed by it. Nothing is opened here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

_APPEND = """INSERT INTO state_event (session, seq, at, data) SELECT * FROM (VALUES {rows})
 WHERE ? = (SELECT coalesce(max(seq) + 1, 0) FROM state_event WHERE session = ?)"""


class Cursor(Protocol):
    """What an executed statement gives."""

    rowcount: int

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """All rows."""


class Connection(Protocol):
    """The part of a DB-API connection that is needed (sqlite3's has it)."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Cursor:
        """Run one statement."""


class TableCells:
    """Cells as rows of `state_cell`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        connection.execute(
            "CREATE TABLE IF NOT EXISTS state_cell"
            " (name TEXT PRIMARY KEY, version INTEGER NOT NULL, data BLOB NOT NULL)"
        )

    def get(self, name: str) -> tuple[int, bytes]:
        """Version and bytes."""
        row = self._connection.execute("SELECT version, data FROM state_cell WHERE name = ?", (name,)).fetchone()
        return (int(row[0]), bytes(row[1])) if row else (0, b"")

    def put(self, name: str, seen: int, version: int, data: bytes) -> bool:
        """Write, if the cell still is at `seen`: in one statement, so that of two writers one loses."""
        if not seen:
            return self._changed(
                "INSERT INTO state_cell (name, version, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (name, version, data),
            )
        return self._changed(
            "UPDATE state_cell SET version = ?, data = ? WHERE name = ? AND version = ?", (version, data, name, seen)
        )

    def _changed(self, statement: str, values: Sequence[Any]) -> bool:
        return self._connection.execute(statement, values).rowcount == 1


class TableLog:
    """A log as rows of `state_event`: the primary key lets nobody append at a place that is taken."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        connection.execute(
            "CREATE TABLE IF NOT EXISTS state_event (session TEXT, seq INTEGER, at TEXT NOT NULL, data BLOB NOT NULL,"
            " PRIMARY KEY (session, seq)) WITHOUT ROWID"
        )

    def read(self, session: str, start: int) -> list[tuple[bytes, str]]:
        """The records from `start` on."""
        rows = self._connection.execute(
            "SELECT data, at FROM state_event WHERE session = ? AND seq >= ? ORDER BY seq", (session, start)
        ).fetchall()
        return [(bytes(data), str(at)) for data, at in rows]

    def append(self, session: str, start: int, records: Sequence[tuple[bytes, str]]) -> bool:
        """Append, if the log ends at `start`: all records in one statement, or none."""
        if not records:
            return True
        values = [value for at, record in enumerate(records, start) for value in (session, at, record[1], record[0])]
        # A place that is taken makes the whole statement write nothing; so does a gap before it.
        statement = _APPEND.replace("{rows}", ", ".join(["(?, ?, ?, ?)"] * len(records)))
        return self._connection.execute(statement, [*values, start, session]).rowcount == len(records)
