"""Yesterday's database with today's memory of the signer: by pg_dump and pg_restore, and as a copy of its files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connections

from agentstate.stack import postgres
from agentstate.stack.servers import start_servers, supervisor_for
from audit import ledger, sequencer, signer
from tests.database import TestDatabase
from tests.shell.attack_world import SIGNATURE, Held, exported, found_by, kept, spoken, talk
from tests.shell.test_ledger import TENANT
from tests.signing import SignerThread

pytestmark = pytest.mark.django_db(transaction=True)
IN_SO_MANY_WORDS = (
    r"the ledger was cut off, altered or restored from a backup\. Got \d+ leaves of the global log; signed"
)


def program(name: str, *arguments: str) -> None:
    """One of PostgreSQL's own programs, as the superuser, on the server of the tests."""
    stack = settings.STACK
    parts = psycopg.conninfo.conninfo_to_dict(stack.dsn(stack.superuser, stack.database))
    known = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "passfile": "PGPASSFILE", "password": "PGPASSWORD"}
    place = {known[key]: str(value) for key, value in parts.items() if key in known}
    command = [postgres._binary(name), *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=120, env={**os.environ, **place})


@pytest.fixture
def embedded(test_database) -> None:
    if not test_database.stack.embedded:
        pytest.skip("needs the embedded server's own programs")


def test_yesterdays_dump_is_refused_at_the_next_signature_while_sessions_go_on(embedded, test_database, tmp_path):
    head, dump = talk(), tmp_path / "yesterday.dump"
    kept(head)
    program("pg_dump", "--format=custom", f"--file={dump}", test_database.name)
    held = kept(spoken(head, "what was said today"))
    connections.close_all()
    with test_database.administrator() as administrator:
        administrator.execute(f'DROP DATABASE "{test_database.name}" WITH (FORCE)')
        administrator.execute(f'CREATE DATABASE "{test_database.name}"')
    program("pg_restore", "--exit-on-error", f"--dbname={test_database.name}", str(dump))
    goes_on_unsigned(held, head, tmp_path)


@contextmanager
def stopped(database: TestDatabase, first: Callable[[], None] = lambda: None) -> Iterator[None]:
    """The servers of the tests are down meanwhile, and the signer. `first` is done while they still run."""
    assert database.supervisor is not None
    first()
    connections.close_all()
    signing = database.signer
    signing.stop()
    database.supervisor.stop()
    yield
    database.supervisor = supervisor_for(database.stack)
    start_servers(database.stack, database.supervisor, durable=False)
    database.signer = SignerThread(signing.state_dir, signing.signer.origin, signing.socket)


def goes_on_unsigned(held: Held, head: ledger.Head, folder: Path) -> None:
    """Entries are appended and read as ever; every way to a signature is refused, and says why."""
    went_on = ledger.read_head(held.log)
    assert went_on.size == head.size
    for _ in range(3):
        went_on = spoken(went_on, "and on")
        with pytest.raises(signer.HeadRefused, match=IN_SO_MANY_WORDS):
            sequencer.run_once(TENANT)
        with pytest.raises(signer.HeadRefused, match="restored from a backup"):
            exported(held.log, folder)
    assert [row.seq for row in ledger.read_rows(held.log)] == list(range(head.size + 3))
    assert found_by(held, folder) == {SIGNATURE}


def test_a_copied_data_directory_is_refused_at_the_next_signature_while_sessions_go_on(
    embedded, test_database, tmp_path
):
    """The server is stopped, its files are those of yesterday, and it is started again."""
    head = talk()
    kept(head)
    stack, copy = test_database.stack, tmp_path / "yesterday"
    with stopped(test_database):
        shutil.copytree(stack.postgres_dir, copy, symlinks=True)
    held = kept(spoken(head, "what was said today"))
    with stopped(test_database):
        shutil.rmtree(stack.postgres_dir)
        shutil.move(copy, stack.postgres_dir)  # the next start makes it the server's own
    goes_on_unsigned(held, head, tmp_path)
