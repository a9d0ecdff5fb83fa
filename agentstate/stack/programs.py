"""The Python programs that `up` runs beside the servers, as command lines and environments."""

from __future__ import annotations

import sys
from dataclasses import replace

from agentstate.stack.children import Program
from agentstate.stack.endpoints import Endpoints
from agentstate.stack.liveness import Probe, http

MAX_MESSAGE = 100_000  # bytes of a client's WebSocket message; a page sends some hundred
STATIC_FILE = "/static/agentstate/tokens.css"  # served without PostgreSQL and Valkey, and before any session
THREADS = 8  # sessions one worker steps at once; a thread holds one connection


def web(stack: Endpoints, port: int, env: dict[str, str]) -> Program:
    """Daphne, with bounds on its clients: pages, API and sockets."""
    arguments = (
        "agentstate.serving", "-b", "127.0.0.1", "-p", str(port), "--application-close-timeout", "3",
        "--no-server-name", "--access-log", "/dev/null", "--websocket-max-message-size", str(MAX_MESSAGE),
        "--websocket-max-frame-size", str(MAX_MESSAGE), "agentstate.asgi:application",
    )  # fmt: skip
    program = _python(stack, "web", arguments, f"-p {port} ", {**env, "AGENTSTATE_POOL": "16"})
    return replace(program, probe=http(port, f"HEAD {STATIC_FILE}"))


def worker(stack: Endpoints, env: dict[str, str], number: int = 1) -> Program:
    """A Celery worker. Threads: no fork, so no broken connections, and one remembered state for all. There are several,
    so that what a dead one was at need not wait until another has started.
    """
    own = "worker" if number == 1 else f"worker-{number}"
    name = f"{own}@{stack.socket_dir.name}"
    arguments = (
        "celery", "-A", "agentstate.celery", "worker", "--pool", "threads", "--concurrency", str(THREADS),
        "--without-gossip", "--without-mingle", "--loglevel", "INFO", "-n", name,
    )  # fmt: skip
    return _python(stack, own, arguments, name, {**env, "AGENTSTATE_CONN_MAX_AGE": "3600"})


def beat(stack: Endpoints, env: dict[str, str]) -> Program:
    """Celery's clock. No pid file: a stale one would keep it from starting."""
    schedule = str(stack.state_dir / "run" / "beat")
    arguments = (
        "celery", "-A", "agentstate.celery", "beat", "--pidfile", "", "--schedule", schedule,
        "--loglevel", "WARNING",
    )  # fmt: skip
    return _python(stack, "beat", arguments, schedule, {**env, "AGENTSTATE_CONN_MAX_AGE": "60"})


def signer(stack: Endpoints, origin: str, socket: str, *options: str) -> Program:
    """The only holder of the log key. It needs no Django and no database, and stops after those who ask it."""
    arguments = (
        "audit.signing", "--state-dir", str(stack.state_dir), "--origin", origin, "--socket", socket, *options,
    )  # fmt: skip
    probe = Probe(socket, b"{}\n", (b"{",))  # an empty request: refused at once, without a key or a line of the log
    return replace(_python(stack, "signer", arguments, f"--socket {socket} ", {}), layer=1, probe=probe)


def sequencer(stack: Endpoints, env: dict[str, str]) -> Program:
    """Puts the heads of all logs into the global log."""
    more = {**env, "AGENTSTATE_CONN_MAX_AGE": "60"}
    return _python(stack, "sequencer", ("django", "sequence"), "django sequence", more)


def authorization(stack: Endpoints, port: int, env: dict[str, str]) -> Program:
    """The demo bank's authorization and fraud check."""
    program = _python(stack, "authorization", ("demo.authorization", "--port", str(port)), f"--port {port}", env)
    return replace(program, probe=http(port, "GET /healthz"))


def callers(stack: Endpoints, env: dict[str, str]) -> Program:
    """The demo's customers. Nobody's work ends when they do."""
    return replace(_python(stack, "callers", ("demo.callers",), "-m demo.callers", env), essential=False)


def _python(stack: Endpoints, name: str, module: tuple[str, ...], mark: str, env: dict[str, str]) -> Program:
    """A module run by our own Python, from the checkout, in which it finds its packages."""
    settings = {"DJANGO_SETTINGS_MODULE": "agentstate.settings", "PYTHONUNBUFFERED": "1"}
    return Program(name, (sys.executable, "-m", *module), mark, cwd=stack.base_dir, env={**settings, **env})
