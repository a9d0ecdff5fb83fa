"""The superuser of the database of an installation under attack, who holds no key: past triggers and rights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from agentstate.stack.endpoints import endpoints
from audit.tlog import tree
from tests.attacks.stack import Stack
from tests.processes import ROOT

HEADS = ("audit_head", "audit_place")
ENTRIES = ("audit_entry", "audit_payload", "audit_receipt")
ROWS = {
    "agent_sessions_agentsession": "id",
    "agent_sessions_approvalrequest": "session_id",
    "agent_sessions_snapshot": "session",
}


class Root:
    """The superuser of an installation's database, past triggers and rights."""

    def __init__(self, stack: Stack, connection: psycopg.Connection) -> None:
        self.stack, self._connection = stack, connection
        connection.execute("SET session_replication_role = replica")

    def run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        found = self._connection.execute(sql, values or None)  # type: ignore[arg-type]
        return found.fetchall() if found.description else []

    def change(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        """Runs these together, in one transaction. Each must find a row."""
        with self._connection.transaction():
            for sql, values in statements:
                assert self._connection.execute(sql, values).rowcount, sql  # type: ignore[arg-type]

    def size(self, log: str, table: str = "audit_head") -> int:
        found = self.run(f"SELECT size FROM {table} WHERE log = %s", log)
        return found[0][0] if found else 0

    def sequenced(self, log: str) -> bool:
        return self.size(log) == self.size(log, "audit_place") > 0

    def copy(self, name: str, log: str) -> None:
        """Keeps every row of a log under a name."""
        for table, column in {**dict.fromkeys((*HEADS, *ENTRIES), "log"), **ROWS}.items():
            self.run(f"CREATE TEMP TABLE {name}_{table} AS SELECT * FROM {table} WHERE {column} = %s", log)

    def put_back(self, name: str, log: str, *tables: str) -> None:
        """Makes these tables say of the log what they said when the copy was made."""
        for table, column in {**dict.fromkeys((*HEADS, *ENTRIES), "log"), **ROWS}.items():
            if not tables or table in tables:
                self.run(f"DELETE FROM {table} WHERE {column} = %s", log)
                self.run(f"INSERT INTO {table} SELECT * FROM {name}_{table}")

    def forge(self, log: str, base: int, frontier: bytes, *envelopes: bytes) -> None:
        """Grows a log by hand."""
        for number, envelope in enumerate(envelopes):
            self.run("INSERT INTO audit_entry (log, seq, envelope) VALUES (%s, %s, %s)", log, base + number, envelope)
        grown = tree.append(frontier, base, [tree.leaf_hash(each) for each in envelopes])
        self.run(
            "UPDATE audit_head SET size = %s, frontier = %s, dirty_since = now() WHERE log = %s",
            base + len(envelopes), grown, log,
        )  # fmt: skip

    def cut(self, log: str, size: int) -> bytes:
        """Deletes a log's entries from `size` on; the frontier of those that are left."""
        for table in ENTRIES[:2]:
            self.run(f"DELETE FROM {table} WHERE log = %s AND seq >= %s", log, size)
        self.run("DELETE FROM audit_receipt WHERE log = %s AND size > %s", log, size)
        rows = self.run("SELECT envelope FROM audit_entry WHERE log = %s ORDER BY seq", log)
        return tree.append(b"", 0, [tree.leaf_hash(bytes(envelope)) for (envelope,) in rows])


@contextmanager
def superuser(stack: Stack) -> Iterator[Root]:
    ends = endpoints({"AGENTSTATE_STATE_DIR": str(stack.state)}, ROOT)
    with psycopg.connect(ends.dsn(ends.superuser, "agentstate"), autocommit=True) as connection:
        yield Root(stack, connection)
