"""A peer's process, and the questions put to it: one line of JSON in, one line of JSON out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from agentstate.stack.postgres import superuser
from benchmarks.ground import BASE_DIR, Ground

PYTHON = BASE_DIR / ".venv-peers" / "bin" / "python"
LANGGRAPH, DBOS = "langgraph", "dbos"
SCRIPTS = {name: Path(__file__).parent / f"{name}_peer.py" for name in (LANGGRAPH, DBOS)}


class PeerFailed(Exception):
    """The peer's process gave no answer; what it printed stands on standard error."""


class Peer:
    """A running peer. Asked one thing at a time; between questions it does nothing."""

    def __init__(self, python: Path, name: str, dsn: str) -> None:
        self._name = name
        command = [str(python), str(SCRIPTS[name]), dsn]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what: str, *arguments: float) -> Any:
        """The answer to `what`: a number, or a list of numbers. Raises PeerFailed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([what, *arguments]) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise PeerFailed(self._name) from None
        line = self._process.stdout.readline()
        if not line:
            raise PeerFailed(f"{self._name}: {what}")
        return json.loads(line)

    def end(self) -> None:
        """End the process, at once."""
        self._process.kill()
        self._process.communicate()


def installed(python: Path = PYTHON) -> bool:
    """Whether there is an environment to run peers in."""
    return python.exists()


@contextmanager
def peers(here: Ground, python: Path = PYTHON) -> Iterator[dict[str, Peer]]:
    """Both, each with a new database on the server that we use, which is dropped afterwards."""
    with ExitStack() as stack:
        running = {}
        for name in SCRIPTS:
            dsn = stack.enter_context(_database(here, f"peer_{name}"))
            running[name] = Peer(python, name, dsn)
            stack.callback(running[name].end)
        yield running


@contextmanager
def _database(here: Ground, name: str) -> Iterator[str]:
    with superuser(here.stack) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield here.stack.dsn(here.stack.superuser, name)
    finally:
        with superuser(here.stack) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
