"""The database of the tests: a real PostgreSQL and Valkey of this test process's own, migrated once, put back as it was
after each test that commits.

Each pytest-xdist worker has its own servers (a second to start), so workers share nothing. Cleaning by Django's flush
is impossible here, because the application's role may not truncate and the ledger's triggers refuse. A superuser takes
away what the test wrote (`tests.original`); after a test that changed more than rows, the database is dropped and the
migrated template cloned, which takes several times as long. With DATABASE_URL and REDIS_URL set, those servers are used
as they are and always cloned: DATABASE_OWNER_URL must then name a role that may create databases.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import psycopg
import redis
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from psycopg import sql

from agentstate.stack import postgres
from agentstate.stack.endpoints import Endpoints, endpoints
from agentstate.stack.servers import start_servers, supervisor_for
from agentstate.stack.statedir import Claim, claim, prepare
from agentstate.stack.supervisor import Supervisor
from audit import keyed, keys
from tests.original import Original
from tests.processes import ROOT
from tests.signing import SignerThread


def own_state_dir() -> Path:
    """Point this process, before settings are read, at a state directory for its tests alone."""
    path = Path(tempfile.mkdtemp(prefix="agentstate-tests-"))
    os.environ["AGENTSTATE_STATE_DIR"] = str(path)
    prepare(endpoints(os.environ, ROOT))  # the settings read the secret key that this makes
    return path


@dataclass
class TestDatabase:
    """The migrated template and the clone that the tests use, which bears the name the settings know."""

    __test__ = False

    stack: Endpoints
    name: str
    supervisor: Supervisor | None
    held: Claim | None
    signer: SignerThread
    original: Original | None = None  # where a superuser cleans

    @property
    def template(self) -> str:
        return f"{self.name}_template"

    def make_template(self) -> None:
        """Migrate, and put the result aside as the template."""
        call_command("migrate", database="owner", interactive=False, verbosity=0)
        connections.close_all()
        with self.administrator() as connection:
            self._drop(connection, self.template)
            rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
            connection.execute(rename.format(sql.Identifier(self.name), sql.Identifier(self.template)))
            self._clone(connection)

    def renew(self) -> None:
        """Throw away whatever a test committed, in PostgreSQL and in Valkey."""
        connections.close_all()
        if not self.put_back():
            with self.administrator() as connection:
                self._drop(connection, self.name)
                self._clone(connection)
        keys.forget_all()  # those of the database that is gone
        keyed.forget_all()
        self.empty_valkey()

    def forget_heads(self) -> None:
        """The signer's memory outlives a database, which is its point; a test's database begins anew."""
        self.signer.forget()

    def empty_valkey(self) -> None:
        """Forget caches, throttles and messages."""
        self.valkey.flushall() if self.stack.embedded else self.valkey.flushdb()

    @cached_property
    def valkey(self) -> redis.Redis:
        """A client that stays connected."""
        return redis.Redis.from_url(self.stack.cache_url)

    def administrator(self, database: str = "postgres") -> psycopg.Connection:
        """Who may create databases, and in the embedded server the superuser that tests tamper as."""
        if self.stack.embedded:
            return postgres.superuser(self.stack, database)
        return psycopg.connect(os.environ["DATABASE_OWNER_URL"], dbname=database, autocommit=True)

    def stop(self) -> None:
        connections.close_all()
        self.valkey.close()
        self.signer.stop()
        if self.supervisor is not None:
            self.supervisor.stop()
            shutil.rmtree(self.stack.socket_dir, ignore_errors=True)

    def put_back(self) -> bool:
        """Whether the database is as new; if not, only a clone can be."""
        if self.original is None:
            return False
        try:
            with self.administrator(self.name) as connection:
                return self.original.put_back(connection)
        except psycopg.Error:  # it was dropped, or its files were tampered with
            return False

    def _clone(self, connection: psycopg.Connection) -> None:
        if self.stack.embedded:
            postgres.create_database(connection, self.name, self.template, strategy="file_copy")
            with self.administrator(self.name) as clone:
                self.original = Original(clone)
            return
        names = sql.Identifier(self.name), sql.Identifier(self.template)
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))

    @staticmethod
    def _drop(connection: psycopg.Connection, name: str) -> None:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def started() -> TestDatabase:
    """The test database of this process, its servers running."""
    stack: Endpoints = settings.STACK
    supervisor = held = None
    if stack.embedded:
        prepare(stack)
        held = claim(stack, "the tests")  # so that a manage.py started by a test uses these servers
        supervisor = supervisor_for(stack)
        start_servers(stack, supervisor, durable=False)
        held.open()
    signer = SignerThread(Path(settings.STATE_DIR), settings.LOG_ORIGIN, Path(settings.SIGNER_SOCKET))
    return TestDatabase(stack, settings.DATABASES["default"]["NAME"], supervisor, held, signer)
