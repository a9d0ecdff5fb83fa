"""A signed head that was handed out is still the newest after PostgreSQL is killed: it was on the disk before."""

from __future__ import annotations

import os
import signal

import pytest
from django.db import connections

from audit import globallog, sequencer
from tests.database import TestDatabase
from tests.processes import eventually, is_alive
from tests.shell.attack_world import spoken, talk
from tests.shell.test_attacks_restored import stopped
from tests.shell.test_ledger import TENANT

pytestmark = pytest.mark.django_db(transaction=True)


def kill_postgres(database: TestDatabase) -> None:
    """At once, without a checkpoint, and with what is not written out yet lost."""
    pid = int((database.stack.postgres_dir / "postmaster.pid").read_text().split()[0])
    with stopped(database, first=lambda: os.kill(pid, signal.SIGQUIT)):
        eventually(lambda: not is_alive(pid), 10, "it is gone")


def test_a_signed_head_that_was_read_is_there_after_a_crash_of_the_database(test_database):
    if not test_database.stack.embedded:
        pytest.skip("kills the embedded server")
    with test_database.administrator() as administrator:  # tests do without, for speed
        administrator.execute("ALTER ROLE app SET synchronous_commit = on")
    try:
        connections.close_all()
        head = talk()
        for _ in range(3):
            head = spoken(head, "and on")
            sequencer.settle(head.log)
            read = globallog.signed_head(TENANT)
            kill_postgres(test_database)
            assert globallog.signed_head(TENANT) == read
    finally:
        with test_database.administrator() as administrator:
            administrator.execute("ALTER ROLE app RESET synchronous_commit")
