"""`manage.py up` and manage.py beside it, as processes: what people and scripts rely on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agentstate.stack.endpoints import endpoints
from agentstate.stack.errors import AlreadyRunning, BankMissing, KeysUnusable, PortTaken
from tests.processes import ROOT, Running, environment, eventually, health, is_alive, manage, refusal


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("a state directory, with spaces") / "state"


@pytest.fixture(scope="module")
def running(state: Path) -> Iterator[list[Running]]:
    """One `up` for all tests here, started while its favourite port is taken; a test may put another in
    place.
    """
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", 8000))
            other.listen()
        except OSError:
            pass  # somebody else has it: just as well
        held = [Running.up(state)]
        held[0].ready()
    yield held
    held[0].stop(signal.SIGINT)


@pytest.fixture
def up(running: list[Running]) -> Running:
    return running[0]


def test_a_taken_port_is_said_and_the_next_one_used(up: Running):
    assert "port 8000 is taken, using" in up.said
    assert health(up.ready()) == 200


def test_a_second_up_is_refused_in_one_line_that_names_the_first(up: Running, state: Path):
    line = refusal(Running.up(state), AlreadyRunning)
    assert f"(pid {up.process.pid}, {up.ready()})" in line


def test_a_taken_port_that_was_asked_for_is_refused_in_one_line(up: Running, tmp_path: Path):
    port = up.ready().rstrip("/").rpartition(":")[2]
    assert f"{port} is in use" in refusal(Running.up(tmp_path / "state", "--port", port), PortTaken)


def test_a_command_works_beside_up_with_its_servers(up: Running, state: Path):
    eventually(lambda: "worker-2" in up.pids())  # the last that is started
    before = up.pids()
    done = manage(
        state,
        "shell",
        "--no-imports",
        "-c",
        "from django.db import connection as c; print(c.cursor().execute('SELECT 41+1').fetchone())",
    )
    assert (done.returncode, done.stdout.strip()) == (0, "(42,)"), done.stderr
    assert up.pids() == before


@pytest.mark.parametrize("name", ["web", "worker", "beat", "valkey", "postgres"])
def test_a_killed_child_comes_back_and_all_is_well_again(up: Running, name: str):
    eventually(lambda: "beat" in up.pids())
    up.kill(name)
    eventually(lambda: health(up.ready()) == 200, 30, f"healthy after {name} was killed")
    assert f"{name} died (signal 9), starting it again" in up.said


def test_kill_9_of_up_leaves_no_process_and_the_next_up_works(running: list[Running], state: Path):
    pids = running[0].pids()
    assert running[0].stop(signal.SIGKILL) == -signal.SIGKILL
    eventually(lambda: not any(map(is_alive, pids.values())), 5, "the children die with the supervisor")
    running[0] = Running.up(state)
    assert health(running[0].ready()) == 200


def test_sigterm_stops_everything_and_is_no_error(running: list[Running], state: Path):
    pids = running[0].pids()
    assert running[0].stop(signal.SIGTERM) == 0
    assert not any(map(is_alive, pids.values()))
    assert "Traceback" not in running[0].said
    assert not endpoints({"AGENTSTATE_STATE_DIR": str(state)}, ROOT).socket_dir.exists()


def test_up_refuses_keys_that_another_key_wrapped(running: list[Running], state: Path):
    running[0].stop(signal.SIGTERM)
    key = state / "secrets" / "ledger.kek"
    right = key.read_bytes()
    key.write_bytes(right[::-1])
    try:
        assert "ledger.kek" in refusal(Running.up(state), KeysUnusable)
    finally:
        key.write_bytes(right)


def test_the_demo_is_refused_on_outside_servers_that_name_no_database_for_its_bank(tmp_path: Path):
    outside = {"DATABASE_URL": "postgresql://app@127.0.0.1:9/main", "REDIS_URL": "redis://127.0.0.1:9/0"}
    assert "BANK_DATABASE_URL" in refusal(Running.up(tmp_path / "state", "--demo", **outside), BankMissing)


def test_commands_without_up_bring_their_own_servers_and_share_them(tmp_path: Path):
    state = tmp_path / "state"
    command = [sys.executable, "manage.py", "showmigrations", "sessions"]
    env = environment(AGENTSTATE_STATE_DIR=str(state))
    both = [
        subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for done in both:
        out, error = done.communicate(timeout=60)
        assert done.returncode == 0, error
        assert "[X] 0001_initial" in out  # the first one found no tables and made them
    assert not list((state / "run").glob("*.pid"))


def test_outside_servers_serve_the_same_code(tmp_path: Path):
    keeper = Running(tmp_path / "servers", "-m", "tests.live.keep")
    keeper.ready()
    stack = endpoints({"AGENTSTATE_STATE_DIR": str(tmp_path / "servers")}, ROOT)
    outside = {
        "DATABASE_URL": stack.dsn("app", "agentstate"),
        "DATABASE_OWNER_URL": stack.dsn("owner", "agentstate"),
        "REDIS_URL": f"unix://{stack.valkey_socket}?db=0",
    }
    try:
        done = manage(tmp_path / "elsewhere", "migrate", "--verbosity", "0", **outside)
        assert done.returncode == 0, done.stderr
        with psycopg.connect(stack.dsn("app", "agentstate")) as connection:
            assert connection.execute("SELECT count(*) > 10 FROM django_migrations").fetchone() == (True,)
        assert not (tmp_path / "elsewhere" / "pg").exists()
    finally:
        keeper.stop()


def test_ctrl_c_in_a_terminal_stops_everything_in_order(tmp_path: Path):
    """In a real terminal the key reaches the whole foreground group; the servers must not be in it."""
    pid, terminal = os.forkpty()
    if pid == 0:
        os.chdir(ROOT)
        env = environment(AGENTSTATE_STATE_DIR=str(tmp_path / "state"))
        os.execvpe(sys.executable, [sys.executable, "-m", "tests.live.keep"], env)
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    log = (tmp_path / "state" / "log" / "postgres.log").read_text()
    assert "database system is shut down" in log
    assert not list((tmp_path / "state" / "run").glob("*.pid"))
