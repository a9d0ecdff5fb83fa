"""The databases of other applications, by name: `bank` is the demo's, any other name is that of a secret which holds
how to connect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.conf import settings

from agentstate.errors import Refused
from sessions.outside import secrets

BANK = "bank"
CONNECT_SECONDS = 3
STATEMENT_MILLISECONDS = 5_000


class NotReachable(Refused):
    """The other application's database cannot be reached."""

    code = "database_not_reachable"
    status = 503


def conninfo(name: str) -> str:
    """How to connect to the database of that name. Raises secrets.NoSecret."""
    if name == BANK and settings.BANK_DSN:
        return str(settings.BANK_DSN)
    return secrets.named(name).reveal()


@contextmanager
def connected(name: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection without a pool: one look a second needs none. Raises NotReachable, which says nothing of where."""
    options = f"-c statement_timeout={STATEMENT_MILLISECONDS} -c idle_in_transaction_session_timeout=10000"
    try:
        connection = psycopg.connect(
            conninfo(name), autocommit=True, connect_timeout=CONNECT_SECONDS, options=options, client_encoding="utf8"
        )
    except psycopg.Error as error:
        raise NotReachable(type(error).__name__) from None
    try:
        yield connection
    finally:
        connection.close()
