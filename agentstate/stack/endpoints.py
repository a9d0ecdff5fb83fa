"""Where the servers of one state directory are: paths, names and addresses, worked out from the environment.

Starts nothing, opens nothing, reads no password: roles log in with libpq's `passfile`, one file per role, so
settings and process listings hold no secret. Not the place where servers are started: that is servers.py.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from agentstate.environment import Environment
from agentstate.errors import Refused

# Roles of the main database: the first owns it, the second serves, the third erases.
ROLES = ("owner", "app", "erase")
# Role and database of the demo bank: a stranger's database that happens to live here.
BANK = "bank"
IDLE_SECONDS = 30  # after which the server ends a transaction that waits for its client


class HalfOutside(Refused):
    """Only one of DATABASE_URL and REDIS_URL is set: outside servers need both, the built-in ones neither."""

    code = "half_outside"
    remedy = "Set both, or neither."


@dataclass(frozen=True)
class Endpoints:
    """Every address of one installation.

    `embedded` is False when outside servers are used; then the directories exist only for keys and logs.
    `databases` is what Django's DATABASES takes, `bank_dsn` is libpq's conninfo ("" when the bank has no
    place: outside servers without BANK_DATABASE_URL).
    """

    superuser: ClassVar[str] = "postgres"

    base_dir: Path
    state_dir: Path
    socket_dir: Path
    embedded: bool
    database: str
    databases: dict[str, dict[str, Any]]
    bank_dsn: str
    broker_url: str
    cache_url: str
    channel_url: str

    @property
    def secrets_dir(self) -> Path:
        """Password files and keys, mode 0700."""
        return self.state_dir / "secrets"

    @property
    def log_dir(self) -> Path:
        """One bounded log file per child."""
        return self.state_dir / "log"

    @property
    def demo_dir(self) -> Path:
        """Accounts, tokens and passwords of a demo; there if `up --demo` ever ran here."""
        return self.state_dir / "demo"

    @property
    def postgres_dir(self) -> Path:
        """The data directory of the embedded PostgreSQL."""
        return self.state_dir / "pg"

    @property
    def valkey_dir(self) -> Path:
        """The append-only file of the embedded Valkey."""
        return self.state_dir / "valkey"

    @property
    def data_dirs(self) -> tuple[Path, ...]:
        """Folders that may lie on file systems of their own and must have space."""
        return (self.state_dir, self.log_dir, *((self.postgres_dir, self.valkey_dir) if self.embedded else ()))

    @property
    def valkey_socket(self) -> Path:
        """The unix socket of the embedded Valkey."""
        return self.socket_dir / "valkey.sock"

    def passfile(self, role: str) -> Path:
        """The libpq password file of `role`, mode 0600."""
        return self.secrets_dir / f"{role}.pgpass"

    def dsn(self, role: str, database: str) -> str:
        """The conninfo with which `role` reaches `database` on the embedded server."""
        return _conninfo(self.socket_dir, self.passfile(role), role, database)


def endpoints(environ: Mapping[str, str], base_dir: Path) -> Endpoints:
    """The endpoints that `environ` asks for, for the checkout at `base_dir`.

    Raises HalfOutside when only one of DATABASE_URL and REDIS_URL is set, BadSetting for a value that cannot work.
    """
    env = Environment(environ)
    asked = env.text("AGENTSTATE_STATE_DIR") or base_dir / ".state"
    state = Path(os.path.realpath(os.path.expanduser(asked)))
    outside = bool(env.text("DATABASE_URL"))
    if outside != bool(env.text("REDIS_URL")):
        raise HalfOutside()
    sockets = socket_dir(state)
    name = env.text("AGENTSTATE_DATABASE", default="agentstate")
    bank = "" if outside else _conninfo(sockets, state / "secrets" / "bank.pgpass", BANK, BANK)
    databases = _outside_databases(env) if outside else _embedded_databases(env, state, sockets, name)
    on_socket = _on_socket(sockets / "valkey.sock")
    broker, cache, channel = env.read("REDIS_URL", _outside_redis, on_socket)
    return Endpoints(
        base_dir=base_dir,
        state_dir=state,
        socket_dir=sockets,
        embedded=not outside,
        database=name,
        databases=databases,
        bank_dsn=env.read("BANK_DATABASE_URL", _conninfo_text, bank),
        broker_url=broker,
        cache_url=cache,
        channel_url=channel,
    )


def socket_dir(state_dir: Path) -> Path:
    """Where the sockets of `state_dir` are: short whatever its length (a socket path holds 107 bytes).

    It follows from the state directory and the user alone, never from XDG_RUNTIME_DIR or TMPDIR, because a
    terminal, cron and sudo differ in those and must still meet at the same socket.
    """
    digest = hashlib.sha256(os.fsencode(state_dir)).hexdigest()[:12]
    return Path(f"/tmp/agentstate-{os.geteuid()}-{digest}")  # noqa: S108 - made 0700 and its owner checked


def _conninfo(host: Path, passfile: Path, role: str, database: str) -> str:
    return make_conninfo("", host=str(host), user=role, dbname=database, passfile=str(passfile))


def _embedded_databases(env: Environment, state: Path, sockets: Path, name: str) -> dict[str, dict[str, Any]]:
    def of(role: str) -> dict[str, Any]:
        passfile = str(state / "secrets" / f"{role}.pgpass")
        return {"NAME": name, "USER": role, "HOST": str(sockets), "OPTIONS": {"passfile": passfile}}

    return _per_alias(env, {role: of(role) for role in ROLES})


def _outside_databases(env: Environment) -> dict[str, dict[str, Any]]:
    app: dict[str, Any] = env.read("DATABASE_URL", _parsed, {})
    owner = env.read("DATABASE_OWNER_URL", _parsed, app)
    erase = env.read("DATABASE_ERASE_URL", _parsed, owner)
    return _per_alias(env, {"owner": owner, "app": app, "erase": erase})


def _conninfo_text(text: str) -> str:
    """The same text. Raises ValueError when libpq cannot read it."""
    try:
        conninfo_to_dict(text)
    except psycopg.ProgrammingError as error:
        raise ValueError(f"want postgresql://ROLE@HOST/DATABASE, {error}") from None
    return text


def _parsed(url: str) -> dict[str, Any]:
    """A libpq URL or conninfo as Django's keys; whatever Django has no key for stays an option of libpq."""
    parts = dict(conninfo_to_dict(_conninfo_text(url)))
    keys = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    named = {key: str(parts.pop(option, "") or "") for key, option in keys.items()}
    return {**named, "OPTIONS": parts}


def _per_alias(env: Environment, roles: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Django's aliases: `default` serves as app; `owner` migrates and `erase` erases, without a pool."""
    common = {"ENGINE": "django.db.backends.postgresql", "CONN_HEALTH_CHECKS": True}
    pool = env.whole("AGENTSTATE_POOL", default=0)
    age = env.whole("AGENTSTATE_CONN_MAX_AGE", default=0)
    serving = {**common, **_bounded(roles["app"]), "CONN_MAX_AGE": 0 if pool else age}
    if pool:
        # Tries that grow rarer are given up soon, and the next request starts anew: back when PostgreSQL is.
        sizes = {"min_size": 1, "max_size": pool, "timeout": 5, "reconnect_timeout": 5}
        serving["OPTIONS"] = {**serving["OPTIONS"], "pool": sizes}
    return {"default": serving, "owner": {**common, **roles["owner"]}, "erase": {**common, **_bounded(roles["erase"])}}


def _bounded(role: dict[str, Any]) -> dict[str, Any]:
    """The connection of a role whose transactions the server ends when they wait too long for their client: a process
    that is frozen within one must not keep its locks. What the role's own URL sets goes before it.
    """
    options = f"-c idle_in_transaction_session_timeout={IDLE_SECONDS}s {role['OPTIONS'].get('options', '')}".strip()
    return {**role, "OPTIONS": {**role["OPTIONS"], "options": options}}


def _on_socket(path: Path | str, first: int = 0) -> tuple[str, str, str]:
    """Broker, cache and channel layer on one socket; Celery alone writes its URL in a way of its own."""
    broker = f"redis+socket://{path}?virtual_host={first}"
    return broker, f"unix://{path}?db={first + 1}", f"unix://{path}?db={first + 2}"


def _outside_redis(url: str) -> tuple[str, str, str]:
    """Broker, cache and channel layer on three databases in a row, from the one that `url` names."""
    parts = urlsplit(url)
    number = parse_qs(parts.query).get("db", ["0"])[0] if parts.scheme == "unix" else parts.path.strip("/") or "0"
    if parts.scheme not in ("redis", "rediss", "unix") or not number.isdecimal():
        raise ValueError("want redis://HOST:PORT/NUMBER, rediss:// or unix:///PATH?db=NUMBER")
    first = int(number)
    if parts.scheme == "unix":
        return _on_socket(parts.path, first)
    _ = parts.port  # a ValueError when it is no port
    broker, cache, channel = (urlunsplit(parts._replace(path=f"/{first + step}")) for step in range(3))
    return broker, cache, channel
