"""What `up` does, in order: claim, servers, migrations, programs, `ready`, watching, stopping.

With --demo it also makes the demo's accounts and bank, and starts the bank's authorization service and its
customers.
"""

from __future__ import annotations

import io
import os
import resource
import secrets
import subprocess
import sys
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections

from agentstate import starting
from agentstate.database_roles import database_roles
from agentstate.files import write_once
from agentstate.stack import ports, programs, reach
from agentstate.stack.children import Program
from agentstate.stack.endpoints import Endpoints
from agentstate.stack.errors import BankMissing, DidNotStart, KeysUnusable
from agentstate.stack.logs import last_line
from agentstate.stack.servers import start_servers, supervisor_for
from agentstate.stack.statedir import Claim, claim, prepare, remove_sockets
from agentstate.stack.supervisor import Interrupted, Supervisor

READY_SECONDS = 60.0
MAX_DESCRIPTORS = 65_536


def run(stack: Endpoints, port: int | None, demo: bool, say: Callable[[str], None]) -> None:
    """Run everything until a signal. Raises a subclass of Unstartable when something cannot be."""
    if demo and not stack.bank_dsn:
        raise BankMissing("With DATABASE_URL, set BANK_DATABASE_URL to an empty database for it, or leave --demo.")
    reach.check(stack)
    prepare(stack)
    if no_key := starting.missing_key():
        raise no_key
    held = claim(stack, "`manage.py up`")
    raise_descriptor_limit()
    try:
        chosen = ports.choose(port)
        if port is None and chosen != ports.DEFAULT:
            print(f"port {ports.DEFAULT} is taken, using {chosen}", file=sys.stderr, flush=True)
        held.tell(f"`manage.py up` (pid {os.getpid()}, http://127.0.0.1:{chosen}/)")
        supervisor = supervisor_for(stack)
        with supervisor.listening():
            _run(stack, supervisor, held, chosen, demo, say)
    finally:
        held.release()


def _run(
    stack: Endpoints, supervisor: Supervisor, held: Claim, port: int, demo: bool, say: Callable[[str], None]
) -> None:
    url = f"http://127.0.0.1:{port}/"
    env = {"AGENTSTATE_STATE_DIR": str(stack.state_dir), "AGENTSTATE_PORT": str(port)}
    env["SITE_URL"] = os.environ.get("SITE_URL", url)
    try:
        first = stack.embedded and start_servers(stack, supervisor)
        bank = _bank_env(stack) if demo else {}
        programs_of_ours = programs.web(stack, port, env | bank), programs.worker(stack, env | bank)
        if "SIGNER_SOCKET" not in os.environ:  # else another machine's or user's signs for us
            supervisor.start(_signer(stack))
        if first:  # nothing to serve or do yet: they may load while the tables are made
            supervisor.start_all(programs_of_ours)
        _migrate(stack)
        _check_keys(say)
        for warning in database_roles().warnings:
            say(f"warning: {warning}")
        for line in _record_library():
            say(line)
        _check_policies()
        held.open()
        if not first:
            supervisor.start_all(programs_of_ours)
        supervisor.start(programs.sequencer(stack, env))
        accounts = _prepare_demo(stack, supervisor, bank) if demo else ""
        supervisor.wait_until(lambda: healthy(url), f"{url}healthz", READY_SECONDS)
        supervisor.start(programs.beat(stack, env))  # last: nothing waits for it, and starting costs a second
        for number in range(2, settings.WORKERS + 1):
            supervisor.start(programs.worker(stack, env | bank, number))
        say(f"ready {url}")
        if demo:
            _open_demo(stack, supervisor, url, accounts, say)
        supervisor.watch()
    except Interrupted:
        return
    finally:
        supervisor.stop()
        if stack.embedded:
            remove_sockets(stack)


def raise_descriptor_limit() -> None:
    """Let every child open as many files and sockets as it may: the usual soft limit is 1,024.

    At most MAX_DESCRIPTORS: some programs walk over all numbers that are allowed, and macOS refuses its own "no limit".
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def healthy(url: str) -> bool:
    """Whether GET /healthz answers 200: database, Valkey and a worker are there."""
    try:
        with urllib.request.urlopen(f"{url}healthz", timeout=5) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _signer(stack: Endpoints) -> Program:
    options = ["--overlap", str(settings.LOG_KEY_OVERLAP_DAYS), "--gap", str(settings.GAP_SECONDS)]
    if settings.LOG_SECOND_SIGNATURE:
        options.append("--second")
    return programs.signer(stack, settings.LOG_ORIGIN, settings.SIGNER_SOCKET, *options)


def _migrate(stack: Endpoints) -> None:
    """Bring the tables up to date, as their owner. Raises DidNotStart with where the traceback is."""
    try:
        call_command("migrate", database="owner", interactive=False, verbosity=0)
    except Exception as error:
        log = stack.log_dir / "migrate.log"
        log.write_text(traceback.format_exc())
        raise DidNotStart(f"migrate: {str(error).strip().splitlines()[-1:]} (see {log})") from error
    finally:
        connections.close_all()


def _check_keys(say: Callable[[str], None]) -> None:
    """Before anything is served: the right key-encryption key is here. The first time, what to back up is said."""
    try:
        told = _printed("check_keys").strip()
    except CommandError as error:
        raise KeysUnusable(str(error)) from None
    if told:
        say(told)


def _record_library() -> list[str]:
    """Before anything is served: what the folders of the library propose can be used, new names are in force, and
    changes wait for approval. Returns what waits now. Raises DidNotStart.
    """
    try:
        return _printed("library", "--record").splitlines()
    except CommandError as error:
        raise DidNotStart(f"LIBRARY_FOLDERS: {error}") from None


def _check_policies() -> None:
    """Before anything is served: every policy can be read, and which are in force is on record. Raises DidNotStart."""
    try:
        _printed("check_policy", "--record")
    except CommandError as error:
        raise DidNotStart(f"policies: {error}") from None


def _bank_env(stack: Endpoints) -> dict[str, str]:
    """Where the bank's authorization service is going to be, and the file with the token that it asks for."""
    token = stack.demo_dir / "authorization.token"
    write_once(token, (secrets.token_urlsafe(32) + "\n").encode())
    url = f"http://127.0.0.1:{ports.any_free()}"
    return {"BANK_AUTHORIZATION_URL": url, "AUTHORIZATION_TOKEN_FILE": str(token)}


def _prepare_demo(stack: Endpoints, supervisor: Supervisor, bank: dict[str, str]) -> str:
    """Make the accounts and the bank, start its authorization service; what to say of the accounts."""
    accounts = _printed("demo_accounts")
    _printed("notice_rules", "--take", "retail")
    env = {**bank, "BANK_DSN": stack.bank_dsn}
    _seed(stack, env)
    port = int(bank["BANK_AUTHORIZATION_URL"].rpartition(":")[2])
    supervisor.start(programs.authorization(stack, port, env))
    return accounts


def _seed(stack: Endpoints, env: dict[str, str]) -> None:
    log = stack.log_dir / "bank.log"
    command = [sys.executable, "-m", "demo.bank", "seed"]
    with open(log, "wb") as output:
        done = subprocess.run(
            command, cwd=stack.base_dir, env={**os.environ, **env}, stdout=output, stderr=output, check=False
        )
    if done.returncode:
        raise DidNotStart(f"{' '.join(command[1:])}: {last_line(log)} (see {log})")


def _open_demo(stack: Endpoints, supervisor: Supervisor, url: str, accounts: str, say: Callable[[str], None]) -> None:
    """Let customers call, say who may sign in, and leave something to look back at (with DEMO_CALLERS=0 neither)."""
    token_file = str(stack.demo_dir / "callers.token")
    env = {"AGENTSTATE_URL": url, "AGENTSTATE_TOKEN_FILE": token_file}
    if os.environ.get("DEMO_CALLERS") != "0":
        supervisor.start(programs.callers(stack, env))
    say(f"demo accounts:\n{accounts.rstrip()}")
    if not settings.EMAIL_HOST:
        say(f"mail becomes files in {settings.EMAIL_FILE_PATH}")
    say(f"sign in once as supervisor: {_printed('sign_in_link', 'supervisor', base=url).strip()}")
    if os.environ.get("DEMO_CALLERS") != "0":
        _printed("demo_history")


def _printed(command: str, *args: str, **options: str) -> str:
    """What a management command prints."""
    out = io.StringIO()
    try:
        call_command(command, *args, stdout=out, **options)
    finally:
        connections.close_all()
    return out.getvalue()
