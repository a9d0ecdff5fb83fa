"""A new key-encryption key: every key of the database is wrapped anew, in batches; entries and tokens stay as they are.

A crash at any point leaves keys under the former and under the new key-encryption key, and both are kept, so
everything can be read; the next run goes on where this one stopped. A key that is destroyed meanwhile stays destroyed:
only what is still wrapped as it was read is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.db import connections

from audit.keys.encryption import Wrapped, provider
from audit.keys.wrapping import in_use, unwrap, wrap

BATCH = 500
ROLE = "erase"  # the only role that may change a key: the application can neither destroy nor exchange one
TABLES = {"audit_subjectkey": "kid", "audit_blindkey": "tenant"}  # and the column that a key is bound to
NOBODY = UUID(int=0)


def unfinished() -> bool:
    """Whether keys are wrapped by another key-encryption key than the current one."""
    return any(ref != provider().current() for ref in in_use())


def rewrap() -> Iterator[int]:
    """Wrap by the current key-encryption key whatever is not; how many keys each batch wrapped. Raises BadKeyFile."""
    while True:
        done = 0
        for table, column in TABLES.items():
            for size in _through(table, column):
                done += size
                yield size
        if not done:  # a process that had read the former key may have wrapped one more meanwhile
            return


def _through(table: str, column: str) -> Iterator[int]:
    last = NOBODY
    while rows := _read(table, column, last):
        yield _write(table, column, rows)
        last = rows[-1][0]


def _read(table: str, column: str, after: UUID) -> list[tuple[UUID, Wrapped]]:
    with connections[ROLE].cursor() as cursor:
        cursor.execute(
            f"SELECT {column}, kek_ref, wrapped FROM {table}"  # noqa: S608 - names of TABLES
            f" WHERE kek_ref <> %s AND wrapped IS NOT NULL AND {column} > %s ORDER BY {column} LIMIT %s",
            [provider().current(), after, BATCH],
        )
        return [(key, Wrapped(ref, bytes(data))) for key, ref, data in cursor.fetchall()]


def _write(table: str, column: str, rows: list[tuple[UUID, Wrapped]]) -> int:
    fresh = [wrap(unwrap(held, key.bytes), key.bytes) for key, held in rows]
    with connections[ROLE].cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} held SET kek_ref = fresh.ref, wrapped = fresh.data"  # noqa: S608 - names of TABLES
            " FROM unnest(%s::uuid[], %s::text[], %s::bytea[], %s::bytea[]) AS fresh (key, ref, data, former)"
            f" WHERE held.{column} = fresh.key AND held.wrapped = fresh.former",
            [
                [key for key, _ in rows],
                [each.kek_ref for each in fresh],
                [each.data for each in fresh],
                [held.data for _, held in rows],
            ],
        )
        return int(cursor.rowcount)
