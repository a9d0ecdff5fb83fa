"""The demo bank for live tests: a fresh schema in the real legacy database, and its authorization service."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.conf import settings

from demo.authorization import Desk, Server, Timetable
from demo.bank.people import Person, people
from demo.bank.seed import seed

TOKEN = "a token of the tests"


def fresh_bank() -> str:
    """The bank's DSN, with everything in it made anew. Ask for the fixture `test_database` first."""
    if not settings.BANK_DSN:
        pytest.skip("no bank: with DATABASE_URL set, BANK_DATABASE_URL must name an empty database")
    with psycopg.connect(settings.BANK_DSN) as connection:
        connection.execute("drop schema if exists core cascade")
        connection.execute("drop schema if exists fraud cascade")
        seed(connection)
    return str(settings.BANK_DSN)


def one(dsn: str, query: str, *values: object) -> Any:
    """The first column of the first row."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query, values).fetchone()
    return row[0] if row else None


def person_with(flag: str) -> Person:
    return next(person for person in people() if person.flag == flag)


@contextmanager
def authorization(dsn: str, timetable: Timetable, haste: float = 0.01) -> Iterator[str]:
    """The service on a free port, thinking `haste` times as long as usual; its address."""
    server = Server(0, TOKEN, Desk(dsn, timetable, haste=haste))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
