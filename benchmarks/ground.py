"""What every group stands on: PostgreSQL and Valkey of the benchmark's own, durable, in a directory that vanishes.

Started as `manage.py up` starts them and with the same settings, so fsync and synchronous_commit are on. The
developer's state directory and outside servers are never touched.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import redis

from agentstate.stack.endpoints import Endpoints, endpoints
from agentstate.stack.servers import start_servers, supervisor_for
from agentstate.stack.statedir import claim, prepare, remove_sockets
from agentstate.stack.supervisor import Supervisor

if TYPE_CHECKING:
    from agentstate.people.models import User

BASE_DIR = Path(__file__).resolve().parent.parent
FOREIGN = (
    *("AGENTSTATE_", "DATABASE_", "REDIS_URL", "BANK_", "AGENT_", "CRASH_", "LEASE_", "STATE_CACHE_"),
    *("LEDGER_", "KEY_ENCRYPTION"),
)
RAW = """CREATE TABLE raw_write (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, writer int NOT NULL,
 payload bytea NOT NULL); GRANT INSERT ON raw_write TO app"""
INSERT_RAW = "INSERT INTO raw_write (writer, payload) VALUES (%b, %b)"
KIBIBYTE = os.urandom(1024)


@dataclass(frozen=True)
class Ground:
    """Running servers, and two people: one speaks for customers, one decides."""

    stack: Endpoints
    supervisor: Supervisor
    caller: User
    decider: User

    def raw_connection(self) -> psycopg.Connection:
        """A connection as the application's role, in autocommit, preparing at once."""
        return psycopg.connect(self.stack.dsn("app", self.stack.database), autocommit=True, prepare_threshold=0)

    def valkey(self) -> redis.Redis:
        """A client of the database that caches use."""
        return redis.Redis.from_url(self.stack.cache_url, socket_timeout=30)


def settle_environment() -> None:
    """Before settings are read: a temporary state directory, and nothing of what the caller's environment says."""
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        del os.environ[name]
    path = tempfile.mkdtemp(prefix="agentstate-bench-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    os.environ |= {
        "AGENTSTATE_STATE_DIR": path,
        "AGENTSTATE_CONN_MAX_AGE": "60",  # as the worker has it
        "AGENT_MODULES": "demo.bank_agent.agent",  # the installation that is measured is the demo's
        "LIBRARY_FOLDERS": str(BASE_DIR / "demo" / "bank_agent" / "library"),
        "DJANGO_SETTINGS_MODULE": "agentstate.settings",
        "LOG_LEVEL": "ERROR",
    }


@contextmanager
def ground() -> Iterator[Ground]:
    """The servers, migrated, with two people; all is stopped and removed afterwards."""
    import django

    stack = endpoints(os.environ, BASE_DIR)
    prepare(stack)  # before the settings are read, because they read Django's key
    django.setup()
    held = claim(stack, "`make bench`")
    supervisor = supervisor_for(stack)
    try:
        start_servers(stack, supervisor)
        yield Ground(stack, supervisor, *_people(stack))
    finally:
        supervisor.stop()
        remove_sockets(stack)
        held.release()


def _people(stack: Endpoints) -> tuple[User, User]:
    from django.core.management import call_command

    call_command("migrate", database="owner", interactive=False, verbosity=0)
    with psycopg.connect(stack.dsn("owner", stack.database), autocommit=True) as owner:
        owner.execute(RAW)
    from agentstate.people import commands
    from agentstate.people.models import Team, Tenant
    from agentstate.people.roles import Role

    tenant, team = Tenant.objects.get(), Team.objects.get()
    people = []
    for name, role in (("caller", Role.CALLER), ("decider", Role.SUPERVISOR)):
        user = commands.create_user(tenant=tenant, username=name, password=None, by=None)
        commands.grant_role(user, team, role, None)
        people.append(user)
    return people[0], people[1]
