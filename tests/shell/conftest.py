"""The bank for shell tests: its real database on the test servers, and its real authorization service."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings as django_settings
from whitenoise.middleware import WhiteNoiseMiddleware

from audit import keys
from demo.authorization import RECORD, Desk, Server, Timetable
from demo.bank.people import everybody
from demo.bank.seed import seed
from sessions.agents import versions
from sessions.core import states


class Bank:
    """What a test asks the legacy database, from outside of the product."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return connection.execute(sql, values).fetchall()  # type: ignore[arg-type]

    def transfers(self, customer: str) -> list[tuple[Any, ...]]:
        """The transfers out of this customer's accounts: (amount in minor units, reference)."""
        return self.rows(
            "SELECT t.amount, t.reference FROM core.transfers t JOIN core.accounts a ON a.id = t.from_account"
            " WHERE a.customer_id = %s ORDER BY t.at",
            customer,
        )


@pytest.fixture(scope="session", autouse=True)
def _static_files_found_once() -> Iterator[None]:
    """Each test client makes its middleware anew, which would look for every static file again; none changes."""
    look, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def remember(middleware: WhiteNoiseMiddleware) -> None:
        if middleware.static_prefix not in found:
            look(middleware)
            found[middleware.static_prefix] = dict(middleware.files)
        middleware.files.update(found[middleware.static_prefix])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", remember)
        yield


@pytest.fixture(scope="session")
def _authorization(test_database) -> Iterator[tuple[str, Path]]:
    dsn = django_settings.BANK_DSN
    with psycopg.connect(dsn) as connection:
        seed(connection)
    token = Path(django_settings.STATE_DIR) / "authorization.token"
    token.write_text("test-token")
    server = Server(0, "test-token", Desk(dsn, Timetable(away=0.0)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", token
    server.shutdown()


def _as_on_the_first_day(dsn: str) -> None:
    """Nobody rolls the bank's database back: the money that all tests move would run out, and live tests drop what they
    found.
    """
    balances = [(account.balance, account.id) for person in everybody() for account in person.accounts]
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        if cursor.execute("SELECT to_regclass('fraud.checks')").fetchone() == (None,):
            seed(connection)
            cursor.execute(RECORD)
        cursor.execute("DELETE FROM core.transfers")
        cursor.executemany(
            "UPDATE core.accounts SET balance = %s WHERE id = %s AND balance <> %s",
            [(balance, account, balance) for balance, account in balances],
        )


@pytest.fixture
def bank(_authorization, settings) -> Bank:
    """The legacy bank as on its first day, and its authorization service at work."""
    _as_on_the_first_day(settings.BANK_DSN)
    settings.BANK_AUTHORIZATION_URL, token = _authorization
    settings.BANK_AUTHORIZATION_TOKEN_FILE = str(token)
    return Bank(settings.BANK_DSN)


@pytest.fixture
def at_once(monkeypatch):
    """As if no process remembered a key any longer."""
    monkeypatch.setattr(keys, "CACHE_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def _no_hot_states() -> Iterator[None]:
    """A rolled-back database must not be met by a state remembered from before."""
    states.forget_all()
    versions.forget_all()
    yield
    states.forget_all()
    versions.forget_all()
