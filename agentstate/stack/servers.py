"""Both servers of a state directory: started together, for `up`, for one command, or for the tests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentstate.stack import identity, postgres, valkey
from agentstate.stack.children import command_line, end_leftovers
from agentstate.stack.endpoints import Endpoints
from agentstate.stack.errors import DidNotStart
from agentstate.stack.statedir import Claim, holder, is_open, prepare, prepare_sockets, remove_sockets, share, try_claim
from agentstate.stack.supervisor import Supervisor

START_SECONDS = 120.0  # a database that was killed may have much to recover; it is watched meanwhile


def supervisor_for(stack: Endpoints) -> Supervisor:
    """A supervisor that logs and keeps its pid files in the state directory, after ending leftovers there."""
    run_dir = stack.state_dir / "run"
    run_dir.mkdir(mode=0o700, exist_ok=True)
    end_leftovers(run_dir)
    return Supervisor(stack.log_dir, run_dir, stack.data_dirs)


def start_servers(stack: Endpoints, supervisor: Supervisor, *, durable: bool = True) -> bool:
    """Start PostgreSQL and Valkey and make what is missing in them; True when the database was made now.

    The caller holds the claim on the state directory. Raises a subclass of Unstartable.
    """
    prepare_sockets(stack)
    _remove_stale(stack)
    who = identity.pick(os.geteuid())
    supervisor.start(valkey.program(stack))
    made = postgres.initialise(stack, who)
    supervisor.start(postgres.program(stack, who, durable=durable))
    supervisor.wait_until(lambda: postgres.answers(stack), "PostgreSQL", START_SECONDS)
    supervisor.wait_until(lambda: valkey.answers(stack), "Valkey", START_SECONDS)
    postgres.ensure_databases(stack)
    return made


@contextmanager
def servers_for_command(stack: Endpoints, command: str, make_tables: Callable[[], None]) -> Iterator[None]:
    """Servers for the duration of one command: those that run, else our own.

    `make_tables` is called when the database was made just now.
    """
    prepare(stack)
    deadline = time.monotonic() + START_SECONDS
    while (held := try_claim(stack, f"`manage.py {command}`")) is None:
        with share(stack):
            if is_open(stack):
                yield
                return
        if time.monotonic() > deadline:
            raise DidNotStart(f"{holder(stack)} has not become ready: stop it, and try again.")
        time.sleep(0.1)
    with _own_servers(stack, held, make_tables):
        yield


@contextmanager
def _own_servers(stack: Endpoints, held: Claim, make_tables: Callable[[], None]) -> Iterator[None]:
    try:
        supervisor = supervisor_for(stack)
        try:
            if start_servers(stack, supervisor):
                make_tables()
            held.open()
            try:
                yield
            finally:
                held.wait_for_users()
        finally:
            supervisor.stop()
            remove_sockets(stack)
    finally:
        held.release()


def _remove_stale(stack: Endpoints) -> None:
    """Remove what a killed server left: sockets, and a pid file whose pid is by now somebody else's.

    PostgreSQL trusts a pid file whose pid is alive; after a restart of the machine or in a container it may
    be any program's. We hold the claim, so no server of this directory is alive.
    """
    for leftover in stack.socket_dir.iterdir():
        leftover.unlink()
    pid_file = stack.postgres_dir / "postmaster.pid"
    if pid_file.exists():
        first = pid_file.read_text().split("\n")[0].strip()
        if not first.isdigit() or str(stack.postgres_dir) not in command_line(int(first)):
            pid_file.unlink()
