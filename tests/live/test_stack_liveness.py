"""Children that are alive and serve no more: they are ended, and come back."""

from __future__ import annotations

import os
import signal
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agentstate.stack import liveness, postgres, programs, valkey
from agentstate.stack.children import Program
from agentstate.stack.endpoints import Endpoints, endpoints
from agentstate.stack.identity import Identity
from agentstate.stack.liveness import Probe, Watch
from agentstate.stack.supervisor import Supervisor
from tests.processes import ROOT, Running, eventually, health, is_alive

#: A server that answers the first request, and hangs.
HANGS = """
import os, socket, sys, time
path = sys.argv[1]
os.path.exists(path) and os.unlink(path)
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
client, _ = server.accept()
client.recv(10)
client.send(b"+")
time.sleep(600)
"""
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{HANGS}"
SERVERS = ("web", "postgres", "valkey", "signer")
ENDED = "is alive but has not served for"


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    """One that gives up a child after a moment, and starts it again at once."""
    monkeypatch.setattr(liveness, "INTERVAL", 0.05)
    monkeypatch.setattr(liveness, "MAX_SILENCE", 0.3)
    monkeypatch.setattr("agentstate.stack.supervisor.BACKOFF", (0.0,) * 5)
    made = Supervisor(tmp_path, tmp_path)
    yield made
    made.stop()


def server(tmp_path: Path, code: str, **more: object) -> Program:
    path = str(tmp_path / "socket")
    command = (sys.executable, "-c", code, path)
    return Program("server", command, mark=path, probe=Probe(path, b"?", (b"+",)), **more)


def test_a_child_that_serves_no_more_is_started_again_however_often(
    supervisor: Supervisor, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    kept, seen = supervisor.start(server(tmp_path, HANGS, kill_signal=signal.SIGTERM)), set()
    eventually(lambda: supervisor.tick(0.01) or seen.add(kept.child.pid) or len(seen) > 6, 60)
    assert f"server {ENDED}" in capfd.readouterr().err


def test_a_paused_child_is_ended_with_its_own_signal(
    supervisor: Supervisor, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    kept = supervisor.start(server(tmp_path, HANGS, kill_signal=signal.SIGTERM))
    first = kept.child
    eventually(lambda: supervisor.tick(0.01) or kept._watch.silence.has_served)
    os.kill(first.pid, signal.SIGSTOP)
    eventually(lambda: supervisor.tick(0.01) or kept.child is not first)
    assert "server died (signal 15)" in capfd.readouterr().err


def test_a_child_that_ignores_its_own_signal_is_killed_when_its_patience_is_over(
    supervisor: Supervisor, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    kept = supervisor.start(server(tmp_path, DEAF, kill_signal=signal.SIGTERM, patience=0.3))
    first = kept.child
    eventually(lambda: supervisor.tick(0.01) or kept.child is not first)
    assert "server died (signal 9)" in capfd.readouterr().err


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    held = Running.up(tmp_path_factory.mktemp("liveness") / "state")
    held.ready()
    yield held
    held.stop()
    print(held.said)


@pytest.fixture(scope="module")
def stack(up: Running) -> Endpoints:
    return endpoints({"AGENTSTATE_STATE_DIR": str(up.state_dir)}, ROOT)


def test_probes_are_answered_and_leave_no_line_in_a_log(up: Running, stack: Endpoints):
    url = up.ready()
    port = int(url.rstrip("/").rpartition(":")[2])
    asked = urllib.request.Request(f"{url.rstrip('/')}{programs.STATIC_FILE}", method="HEAD")
    assert urllib.request.urlopen(asked, timeout=10).status == 200
    found = {
        "web": programs.web(stack, port, {}),
        "postgres": postgres.program(stack, Identity((), os.geteuid())),
        "valkey": valkey.program(stack),
        "signer": programs.signer(stack, "", str(stack.socket_dir / "signer.sock")),
    }
    for name, program in found.items():
        log = stack.log_dir / f"{name}.log"
        before = log.read_text()
        for _ in range(50):
            watch = Watch(program.probe)
            eventually(lambda watch=watch: watch.look(time.monotonic()) or watch.silence.has_served, what=name)
        assert log.read_text().removeprefix(before).count("\n") < 10, name


def test_postgresql_that_waits_for_its_clients_to_leave_comes_back(up: Running, stack: Endpoints):
    before = up.pid("postgres")
    with psycopg.connect(stack.dsn("app", "agentstate"), autocommit=True) as client:
        os.kill(before, signal.SIGTERM)
        eventually(lambda: "received smart shutdown request" in (stack.log_dir / "postgres.log").read_text())
        assert client.execute("SELECT 1").fetchone() == (1,), "this client would keep it waiting for ever"
        eventually(lambda: up.pid("postgres") != before, 60, "another PostgreSQL")
    eventually(lambda: health(up.ready()) == 200, 60, "healthy again")
    assert f"postgres {ENDED}" in up.said


def test_paused_servers_come_back(up: Running):
    before = {name: up.pid(name) for name in SERVERS}
    others = {name: pid for name, pid in up.pids().items() if name not in SERVERS}
    for pid in before.values():
        os.kill(pid, signal.SIGSTOP)
    eventually(lambda: all(up.pid(name) != pid for name, pid in before.items()), 180, "others in their places")
    eventually(lambda: health(up.ready()) == 200, 60, "healthy again")
    assert all(f"{name} {ENDED}" in up.said for name in SERVERS)
    assert not any(map(is_alive, before.values()))
    assert all(f"{name} {ENDED}" not in up.said for name in others)
