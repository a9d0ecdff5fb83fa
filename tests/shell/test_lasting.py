"""A worker's connection lasts from task to task, and a broken one is found before a task begins."""

from __future__ import annotations

import psycopg
import pytest
from celery import current_app
from celery.fixups.django import DjangoWorkerFixup
from django.db import connection, transaction

from agentstate import lasting
from audit import ledger
from sessions import tasks

pytestmark = pytest.mark.django_db(transaction=True)


def backend() -> int:
    """The server's process behind this thread's connection."""
    return int(ledger.run("SELECT pg_backend_pid()", {})[0][0])


@pytest.fixture(autouse=True)
def kept_for_long(monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 3600)
    connection.close()


def test_tasks_of_one_thread_share_a_connection_and_its_plans():
    around = DjangoWorkerFixup(current_app)
    first = backend()
    around.close_database()  # what Celery does before and after every task
    tasks.advance_ready.apply()
    assert backend() == first


def test_a_connection_that_the_server_closed_is_replaced_before_the_task_begins():
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [backend()])
    tasks.advance_ready.apply(throw=True)


def test_a_connection_whose_statement_failed_for_good_is_replaced():
    with pytest.raises(psycopg.OperationalError):
        ledger.run("SELECT pg_terminate_backend(pg_backend_pid())", {})
    lasting.let_go_of_the_broken()
    assert backend()


def test_an_old_connection_is_replaced_and_one_in_a_transaction_is_left_alone(monkeypatch):
    first = backend()
    monkeypatch.setattr(connection, "close_at", 0.0)
    with transaction.atomic():
        lasting.let_go_of_the_broken()
        assert backend() == first
    lasting.let_go_of_the_broken()
    assert backend() != first
