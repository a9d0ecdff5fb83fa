"""The SQL statements that this process sends, whichever way they take to PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from audit import direct


@contextmanager
def statements() -> Iterator[list[str]]:
    """Yields a list that gets the text of every statement: of the ORM, of `audit.reading` and of `audit.direct`. The
    BEGIN and COMMIT of a transaction are not among them.
    """
    sent: list[str] = []
    execute, directly = psycopg.Cursor.execute, direct._executed

    def executed(self: Any, query: Any, *args: Any, **more: Any) -> Any:
        sent.append(query.decode() if isinstance(query, bytes) else str(query))
        return execute(self, query, *args, **more)

    def executed_directly(raw: Any, sql: str, params: Any) -> Any:
        result = directly(raw, sql, params)
        if result is not None:
            sent.append(sql)
        return result

    psycopg.Cursor.execute = executed  # type: ignore[method-assign]
    direct._executed = executed_directly
    try:
        yield sent
    finally:
        psycopg.Cursor.execute = execute  # type: ignore[method-assign]
        direct._executed = directly
