"""A process that is frozen within a transaction keeps its locks for a bounded time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from django.db import connection, connections

from tests.processes import eventually, is_stopped

FREEZES = """
import os, signal, sys, psycopg
with psycopg.connect(sys.argv[1]) as held:
    held.execute("SET idle_in_transaction_session_timeout = '1s'")
    held.execute("SELECT pg_advisory_xact_lock(4711)")
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.django_db(databases=["default", "erase"])
@pytest.mark.parametrize("alias", ["default", "erase"])
def test_the_server_ends_a_transaction_that_waits_for_a_frozen_process(alias):
    with connections[alias].cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("30s",)


@pytest.mark.django_db(transaction=True)
def test_what_a_frozen_process_locked_is_free_when_its_transaction_has_ended():
    with connection.cursor() as cursor:
        at = cursor.connection.info.dsn
        frozen = subprocess.Popen([sys.executable, "-c", FREEZES, at])
        try:
            eventually(lambda: is_stopped(frozen.pid), what="the process freezes")
            cursor.execute("SET lock_timeout = '20s'")
            cursor.execute("SELECT pg_advisory_lock(4711)")
            cursor.execute("SELECT pg_advisory_unlock(4711), set_config('lock_timeout', '0', false)")
        finally:
            os.kill(frozen.pid, signal.SIGCONT)
            frozen.kill()
            frozen.wait(10)
