"""One statement straight through libpq: prepared on the server, its parameters in binary, a row or none as its answer.

For the statement that appends, and no other: psycopg's cursor does the same and takes five times the client's CPU for
it, a quarter of what an append costs. What is unusual is left to `audit.reading.run`, and errors are of the classes
that psycopg raises. Ctrl-C is heard only once the server has answered.

The names of prepared statements are kept where psycopg keeps its own: what psycopg deallocates, after a rollback or
because there are too many, is missing there. So inside a transaction no statement is sent that the server lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import count
from operator import attrgetter
from struct import Struct
from types import NoneType
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from audit import blobs
from audit.reading import run

GONE = b"26000"  # InvalidSqlStatementName


class _Unsuited(Exception):
    """psycopg has to bind this."""


_types = psycopg.adapters.types
_UNSAID = 0  # PostgreSQL finds out the type itself
_FIRST = datetime(2000, 1, 1, tzinfo=UTC)  # from which PostgreSQL counts its microseconds
_int8 = Struct("!q")


def _text(value: str) -> bytes:
    if "\0" in value:
        raise _Unsuited  # libpq would end the text there
    return value.encode()


def _instant(value: datetime) -> bytes:
    if value.tzinfo is None:
        raise _Unsuited
    return _int8.pack((value - _FIRST) // timedelta(microseconds=1))


def _ids(values: list[object]) -> bytes:
    if not all(type(value) is UUID for value in values):
        raise _Unsuited
    return blobs.packed([value.bytes for value in values if type(value) is UUID], _types["uuid"].oid)


def _words(values: list[object]) -> bytes:
    if not all(type(value) is str for value in values):
        raise _Unsuited
    return blobs.packed([_text(value) for value in values if type(value) is str], _types["text"].oid)


class _OfNone:
    """The kind of a list without elements."""


class _OfIds:
    """The kind of a list of ids."""


class _OfWords:
    """The kind of a list of texts."""


_LISTS: dict[type, type] = {UUID: _OfIds, str: _OfWords}


def _kind(value: object) -> type:
    """The type of a value; of a list, which of them it is."""
    if type(value) is not list:
        return type(value)
    return _LISTS.get(type(value[0]), list) if value else _OfNone


# By the type of a value: its type in PostgreSQL, whether it is sent as text or in binary, and its bytes.
_FORMS: dict[type, tuple[int, Format, Callable[[Any], bytes | None]]] = {
    UUID: (_types["uuid"].oid, Format.BINARY, attrgetter("bytes")),
    int: (_types["int8"].oid, Format.BINARY, _int8.pack),
    bool: (_types["bool"].oid, Format.BINARY, Struct("!?").pack),
    float: (_types["float8"].oid, Format.BINARY, Struct("!d").pack),
    bytes: (_types["bytea"].oid, Format.BINARY, bytes),
    blobs.Blobs: (blobs.OID, Format.BINARY, blobs.packed),
    str: (_UNSAID, Format.TEXT, _text),
    datetime: (_types["timestamptz"].oid, Format.BINARY, _instant),
    _OfIds: (_types["uuid"].array_oid, Format.BINARY, _ids),
    _OfWords: (_types["text"].array_oid, Format.BINARY, _words),
    _OfNone: (_UNSAID, Format.TEXT, lambda _: b"{}"),
    NoneType: (_UNSAID, Format.TEXT, lambda _: None),
}

_numbers = count()  # of statements: a name is used once, because those before it may live on the server


def found(sql: str, params: Mapping[str, object]) -> bool:
    """Whether the statement gave a row; its parameters by name as psycopg has them. Raises psycopg.Error."""
    connection.ensure_connection()
    result = _executed(connection.connection, sql, params)
    return bool(run(sql, dict(params))) if result is None else result.ntuples > 0


def _executed(raw: psycopg.Connection[Any], sql: str, params: Mapping[str, object]) -> PGresult | None:
    """Returns the server's answer; None where nothing was sent because psycopg knows better."""
    if not _is_ready(raw):
        return None
    command, names = _numbered(sql)
    given = [params[name] for name in names]
    kinds = tuple(map(type, given))
    try:
        types, formats, encoders = _forms(kinds if list not in kinds else tuple(map(_kind, given)))
        values = [encode(value) for encode, value in zip(encoders, given, strict=True)]
    except _Unsuited:
        return None
    for _ in range(2):
        statement = _prepare(raw, command, types)
        if statement is None:
            return None
        result = raw.pgconn.exec_prepared(statement, values, formats, Format.BINARY)
        if result.error_field(DiagnosticField.SQLSTATE) != GONE or not _is_ready(raw):
            break
        del raw._prepared._names[command, types]  # somebody else deallocated it
    return _checked(raw, result)


def _is_ready(raw: psycopg.Connection[Any]) -> bool:
    """Returns whether a statement may be sent as it is: in a transaction that has begun, or where none is to begin."""
    status = raw.pgconn.transaction_status
    return status == TransactionStatus.INTRANS or (raw.autocommit and status == TransactionStatus.IDLE)


@lru_cache(maxsize=256)
def _numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with its parameters numbered as PostgreSQL does it, and their names in that order."""
    names: dict[str, int] = {}
    command = _PARAMETER.sub(lambda found: f"${names.setdefault(found[1], len(names) + 1)}", sql)
    return command.encode(), tuple(names)


_PARAMETER = re.compile(r"%\((\w+)\)[sb]")


@lru_cache(maxsize=256)
def _forms(kinds: tuple[type, ...]) -> tuple[tuple[int, ...], list[Format], list[Callable[[Any], Any]]]:
    """Of values of these types: PostgreSQL's types, formats, and what makes their bytes. Raises _Unsuited."""
    forms = [_FORMS[kind] for kind in kinds if kind in _FORMS]
    if len(forms) < len(kinds):
        raise _Unsuited
    return tuple(form[0] for form in forms), [form[1] for form in forms], [form[2] for form in forms]


def _prepare(raw: psycopg.Connection[Any], command: bytes, types: tuple[int, ...]) -> bytes | None:
    """Returns the name of the prepared statement; None when the connection has enough of them."""
    held = raw._prepared._names
    name = held.get((command, types))
    if name is None and len(held) < raw._prepared.prepared_max:
        name = b"direct_%d" % next(_numbers)
        _checked(raw, raw.pgconn.prepare(name, command, types))
        held[command, types] = name
    return name


def _checked(raw: psycopg.Connection[Any], result: PGresult) -> PGresult:
    if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        return result
    if raw.pgconn.status == ConnStatus.BAD:
        raise psycopg.OperationalError(result.get_error_message(raw.info.encoding))
    raise error_from_result(result, raw.info.encoding)
