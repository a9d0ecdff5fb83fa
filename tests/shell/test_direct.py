"""The appending statement's own way to PostgreSQL: it answers as psycopg does, and fails as psycopg does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection, transaction

from audit import direct, ledger
from audit.blobs import Blobs
from audit.reading import run
from sessions.approvals import commands as decisions
from sessions.conversation import commands as conversation_commands
from tests import cast
from tests.shell.bank_world import opened, state, work
from tests.shell.test_ledger import batch, new_log
from tests.shell.test_pages import paused

EVERY = {
    "u": uuid4(),
    "i": -7,
    "b": True,
    "f": 0.5,
    "d": b"\0\xff",
    "s": "für \U0001f600",
    "n": None,
    "a": Blobs((b"", b"x")),
    "l": [UUID(int=1), UUID(int=2)],
    "w": ["", "für"],
    "e": [],
    "t": datetime(2026, 11, 21, 9, 30, 0, 1, timezone(timedelta(hours=2))),
}
LEFT = {  # to psycopg, because it knows better what they are
    "numbers": ([1, 2], "%(v)s::bigint[] = '{1,2}'"),
    "gaps": (["a", None], "%(v)s::text[] = ARRAY['a', NULL]"),
    "naive": (datetime(2026, 11, 21, tzinfo=UTC).replace(tzinfo=None), "%(v)s::timestamp = '2026-11-21'"),
    "decimal": (Decimal("0.1"), "%(v)s::numeric = 0.1"),
}
ASKED = (
    "SELECT 1 WHERE %(u)s = %(again)s AND %(i)s = -7 AND %(b)s AND %(f)s = 0.5 AND %(d)b = '\\x00ff'"
    " AND %(s)s = U&'f\\00fcr \\+01F600' AND %(n)s::text IS NULL AND %(a)b = ARRAY['\\x', '\\x78']::bytea[]"
    " AND %(l)s = ARRAY[lpad('1', 32, '0')::uuid, lpad('2', 32, '0')::uuid] AND %(t)s = '2026-11-21 07:30:00.000001Z'"
    " AND %(w)s = ARRAY['', U&'f\\00fcr'] AND %(e)s::bigint[] = '{}'"
)


def prepared() -> list[str]:
    """The statements of our own on this connection."""
    return [row[0] for row in run("SELECT statement FROM pg_prepared_statements WHERE name LIKE 'direct%%'", {"_": 0})]


def appended(head, text):
    """The head after one more entry."""
    moved = ledger.append(head, batch(text))
    assert moved is not None
    return moved


@pytest.mark.django_db(transaction=True)
def test_values_of_every_type_arrive_as_they_are():
    assert direct.found(ASKED, {**EVERY, "again": EVERY["u"]})
    assert not direct.found(ASKED, {**EVERY, "again": uuid4()})
    assert len(prepared()) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", LEFT)
def test_what_it_does_not_know_is_left_to_psycopg(kind):
    value, holds = LEFT[kind]
    assert direct.found(f"SELECT 1 WHERE {holds}", {"v": value})
    assert prepared() == []


@pytest.mark.django_db(transaction=True)
def test_an_append_goes_this_way_and_is_prepared_once():
    log = new_log(b"one")
    for text in (b"two", b"three", b"four"):
        log = appended(log, text)
    assert sum("UPDATE audit_head" in statement for statement in prepared()) == 1


@pytest.mark.django_db(transaction=True)
def test_all_that_a_worker_commits_goes_this_way(bank, monkeypatch):
    """Calls that begin, requests, messages: a parameter of a new type would send each step the long way, unseen."""
    session = opened()
    for text in ("Move $900.00 from savings to checking.", "Yes.", "What is my balance?"):
        conversation_commands.say(cast.cleo(), session, text)
        with monkeypatch.context() as patched:
            patched.setattr(direct, "run", lambda sql, params: pytest.fail(sql))
            work()
    assert state(session).requests


@pytest.mark.django_db(transaction=True)
def test_what_a_person_commits_with_the_head_locked_goes_this_way(bank, monkeypatch):
    session, request = opened(), paused()[1]
    monkeypatch.setattr(direct, "run", lambda sql, params: pytest.fail(sql))
    conversation_commands.say(cast.cleo(), session, "What is my balance?")
    decisions.decide(cast.alice(), request.id, decisions.Decision("approve", seen=request.digest), key="k")
    assert sum("UPDATE audit_head" in statement for statement in prepared()) > 1


@pytest.mark.django_db(transaction=True)
def test_within_a_transaction_a_statement_that_psycopg_let_go_of_is_prepared_anew():
    head = appended(new_log(b"one"), b"two")
    for undone in (True, False):
        with transaction.atomic():
            ledger.read_head(head.log, lock=True)
            assert appended(head, b"three").size == 3
            transaction.set_rollback(undone)
    assert sum("UPDATE audit_head" in each for each in prepared()) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("sql", "params", "error"),
    [
        ("SELECT 1 / %(zero)s", {"zero": 0}, psycopg.errors.DivisionByZero),
        ("SELECT 1 FROM nowhere WHERE %(b)s", {"b": True}, psycopg.errors.UndefinedTable),
        (
            "INSERT INTO audit_head (log) VALUES (%(log)s) RETURNING 1",
            {"log": uuid4()},
            psycopg.errors.NotNullViolation,
        ),
        ("SELECT 1 WHERE %(s)s = 'a'", {"s": "a\0b"}, psycopg.DataError),  # not cut off at the NUL
        ("SELECT 1 WHERE 'a' = ANY(%(w)s)", {"w": ["a\0b"]}, psycopg.DataError),
    ],
)
def test_what_fails_raises_what_psycopg_raises(sql, params, error):
    for way in (direct.found, run):
        with pytest.raises(error):
            way(sql, params)
    assert direct.found("SELECT 1 WHERE %(b)s", {"b": True})


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_is_lost_is_an_operational_error_and_stays_closed():
    try:
        with pytest.raises(psycopg.OperationalError):
            direct.found("SELECT pg_terminate_backend(pg_backend_pid()) WHERE %(b)s", {"b": True})
        with pytest.raises(psycopg.OperationalError, match=r"closed|lost"):
            direct.found("SELECT 1 WHERE %(b)s", {"b": True})
    finally:
        connection.close()
    assert direct.found("SELECT 1 WHERE %(b)s", {"b": True})


@pytest.mark.django_db(transaction=True)
def test_statements_that_psycopg_let_go_of_after_a_rollback_are_prepared_anew():
    head = appended(new_log(b"one"), b"two")
    with transaction.atomic():
        appended(head, b"undone")
        transaction.set_rollback(True)
    assert prepared() == []
    assert appended(head, b"three").size == 3


@pytest.mark.django_db(transaction=True)
def test_a_statement_prepared_after_psycopg_let_go_of_the_others_keeps_its_name():
    """Else one that is prepared anew takes it, and the connection appends nothing any more."""
    first, second = ("SELECT 1 WHERE %(b)s", {"b": True}), ("SELECT 2 WHERE %(b)s", {"b": True})
    direct.found(*first)
    connection.connection.execute("DEALLOCATE ALL")
    for asked in (second, first, second, first):
        assert direct.found(*asked)
    assert sorted(prepared()) == ["SELECT 1 WHERE $1", "SELECT 2 WHERE $1"]
