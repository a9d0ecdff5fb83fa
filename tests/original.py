"""The tests' database as it was after its migrations, put back in milliseconds: only what a test has touched.

Faithful or not at all. Rows and sequences are put back; whatever else a test changed (a table, a trigger, a privilege,
a setting, another database under the same name) is noticed, and the caller makes a new clone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

# Where PostgreSQL writes down all that is no row of a table. How many rows each has and the youngest transaction among
# them tell of every change: what was made or altered is young, what was taken away is missing.
CATALOGS = ("pg_attrdef", "pg_attribute", "pg_class", "pg_constraint", "pg_event_trigger", "pg_extension", "pg_index",
            "pg_policy", "pg_proc", "pg_rewrite", "pg_trigger", "pg_type")  # fmt: skip
MARK = "(SELECT count(*) || ':' || coalesce(max(xmin::text::bigint), 0) FROM {})"
HERE = "(SELECT oid FROM pg_database WHERE datname = current_database())"
SETTINGS = f"(SELECT count(*) FROM pg_db_role_setting WHERE setdatabase = {HERE})"
TABLES = """
SELECT c.oid::bigint, format('%I.%I', n.nspname, c.relname), EXISTS (
  SELECT FROM pg_constraint r WHERE r.contype = 'f' AND r.confrelid = c.oid AND r.conrelid <> c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_' ORDER BY c.oid"""
SEQUENCES = "SELECT format('%I.%I', schemaname, sequencename), start_value, last_value FROM pg_sequences ORDER BY 1"
ALONE = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""
MOST = 1_000_000  # bytes of a table that others refer to: what is deleted there takes room until the next clone


@dataclass(frozen=True)
class Table:
    """A table: its quoted name, whether foreign keys of others refer to it, and the rows it began with as COPY's binary
    form, None where it began empty.
    """

    name: str
    referred_to: bool
    rows: bytes | None


class Original:
    """What a new clone of the template holds; the connection is a superuser's, to that database."""

    def __init__(self, connection: psycopg.Connection) -> None:
        found = connection.execute(TABLES).fetchall()
        self.tables = [Table(name, referred_to, _rows(connection, name)) for _, name, referred_to in found]
        sequences = [
            f"setval('{name}', {start if last is None else last}, {last is not None})"
            for name, start, last in connection.execute(SEQUENCES)
        ]
        self._sequences = f"SELECT {', '.join(sequences)}" if sequences else "SELECT"
        catalogs = " || ' ' || ".join([HERE, SETTINGS, *(MARK.format(name) for name in CATALOGS)])
        filled = ", ".join(MARK.format(table.name) if table.rows else "NULL" for table in self.tables)
        sizes = ", ".join(f"pg_relation_size({oid})" for oid, _, _ in found)
        self._look = f"SELECT {catalogs}, ARRAY[{filled}]::text[], ARRAY[{sizes}]::bigint[]"
        self._structure, self._marks, _ = self._seen(connection)

    def put_back(self, connection: psycopg.Connection) -> bool:
        """Put back what was touched, and end everybody else's connection before. False if only a clone would do."""
        connection.execute(ALONE)
        structure, marks, sizes = self._seen(connection)
        if structure != self._structure:
            return False
        touched = [
            (table, size)
            for table, size, before, now in zip(self.tables, sizes, self._marks, marks, strict=True)
            if (size if table.rows is None else before != now)
        ]
        if any(table.referred_to and size > MOST for table, size in touched):
            return False
        self._empty(connection, [table for table, _ in touched])
        self._structure, self._marks, _ = self._seen(connection)
        return True

    def _empty(self, connection: psycopg.Connection, touched: list[Table]) -> None:
        whole = [table.name for table in touched if not table.referred_to]
        statements = [f"TRUNCATE {', '.join(whole)}"] if whole else []
        statements += [f"DELETE FROM {table.name}" for table in touched if table.referred_to]
        with connection.transaction():
            connection.execute("SET LOCAL session_replication_role = replica")  # no trigger refuses, none is called
            for statement in [*statements, self._sequences]:
                connection.execute(statement)  # type: ignore[arg-type]
            for table in touched:
                if table.rows is not None:
                    with connection.cursor().copy(f"COPY {table.name} FROM STDIN (FORMAT binary)") as copy:  # type: ignore[arg-type]
                        copy.write(table.rows)

    def _seen(self, connection: psycopg.Connection) -> tuple[Any, ...]:
        return connection.execute(self._look).fetchone() or ()  # type: ignore[arg-type]


def _rows(connection: psycopg.Connection, name: str) -> bytes | None:
    if connection.execute(f"SELECT FROM {name} LIMIT 1").fetchone() is None:  # type: ignore[arg-type]
        return None
    with connection.cursor().copy(f"COPY {name} TO STDOUT (FORMAT binary)") as copy:  # type: ignore[arg-type]
        return b"".join(bytes(part) for part in copy)
