"""A second connection that holds locks, and whether somebody waits for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection

_WAITING = """SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
 AND query LIKE %(about)s AND pid <> pg_backend_pid()"""


@contextmanager
def another_connection() -> Iterator[psycopg.Connection[Any]]:
    """Opens a connection to the same database, in a transaction that is rolled back unless it was committed."""
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}) as other:
        try:
            yield other
        finally:
            other.rollback()


def waits_for_a_lock(table: str) -> bool:
    """Whether a statement that names `table` waits for somebody's lock."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, {"about": f"%{table}%"})
        return cursor.fetchone() is not None
