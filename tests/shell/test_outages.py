"""While a server does not answer, logs tell of it in few lines, and what was to be learned is learned afterwards."""

from __future__ import annotations

import logging

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction
from redis.exceptions import ConnectionError as ValkeyAway

from agentstate import outages
from sessions.profiles import learning
from tests.shell.api_world import new_session


def told(log: logging.Logger, error: Exception, text: str = "session %s could not go on", *values: object) -> None:
    try:
        raise error
    except Exception:
        log.exception(text, *(values or ("s-1",)))


@pytest.fixture
def lines() -> list[str]:
    """What a logger with the filter writes."""
    written: list[str] = []

    class Written(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(logging.Formatter("%(message)s").format(record))

    handler = Written()
    handler.addFilter(outages.Brief())
    log = logging.getLogger("tests.outages")
    log.propagate, log.handlers = False, [handler]
    return written


def test_an_outage_is_one_line_however_many_things_it_fails(lines: list[str]) -> None:
    log = logging.getLogger("tests.outages")
    for number in range(50):
        told(log, OperationalError("no connection\nDETAIL: more"), "session %s could not go on", number)
    told(log, ValkeyAway("refused"))
    assert lines == [
        "session 0 could not go on (OperationalError: no connection)",
        "session s-1 could not go on (ConnectionError: refused)",
    ]


def test_the_next_line_counts_what_was_left_out(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger("tests.outages")
    for _ in range(4):
        told(log, psycopg.OperationalError("gone"))
    monkeypatch.setattr(outages, "EVERY", 0.0)
    told(log, psycopg.OperationalError("gone"))
    assert lines[1] == "session s-1 could not go on (OperationalError: gone) [3 like this were left out]"


def test_every_other_error_keeps_its_traceback_and_its_line(lines: list[str]) -> None:
    log = logging.getLogger("tests.outages")
    for _ in range(3):
        told(log, KeyError("x"))
    log.error("no error at hand: %s", 1)
    assert [text.count("Traceback") for text in lines] == [1, 1, 1, 0]


def test_the_settings_use_the_filter() -> None:
    handlers = logging.getLogger().handlers
    assert any(isinstance(each, outages.Brief) for handler in handlers for each in handler.filters)


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_learning_in_an_outage_says_so_instead_of_passing_over(caplog: pytest.LogCaptureFixture) -> None:
    """The commits then stay in the outbox, and teach when the outage is over."""
    sessions = [new_session(), new_session()]
    with transaction.atomic(using="owner"), connection.cursor() as cursor:
        connections["owner"].cursor().execute("LOCK TABLE agent_sessions_taught")
        cursor.execute("SET lock_timeout = '50ms'")
        try:
            with pytest.raises(outages.OUTAGES):
                learning.teach_all(sessions)
        finally:
            cursor.execute("RESET lock_timeout")
    assert "could not teach" not in caplog.text
