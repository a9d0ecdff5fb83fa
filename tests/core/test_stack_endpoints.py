"""Where everything is, worked out from the environment alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentstate.stack import commandline
from agentstate.stack.endpoints import HalfOutside, endpoints, socket_dir
from agentstate.stack.errors import StateDirUnusable

BASE = Path("/srv/agent state")
OUTSIDE = {
    "DATABASE_URL": "postgresql://app:p%40ss@db.example:6432/main?sslmode=require",
    "REDIS_URL": "redis://:s@r:6379/3",
}


def test_the_state_directory_is_in_the_checkout_unless_named():
    assert endpoints({}, BASE).state_dir == BASE / ".state"
    assert endpoints({"AGENTSTATE_STATE_DIR": "/var/lib/a"}, BASE).state_dir == Path("/var/lib/a")


def test_a_socket_path_fits_however_long_the_state_directory_is():
    longest = socket_dir(Path("/" + "x" * 4000)) / ".s.PGSQL.5432.lock"
    assert len(str(longest)) < 107


def test_two_state_directories_never_meet_at_one_socket():
    assert socket_dir(Path("/a/.state")) != socket_dir(Path("/b/.state"))


def test_the_socket_does_not_depend_on_the_terminal_it_was_started_from():
    with_session = endpoints({"XDG_RUNTIME_DIR": "/run/user/1000", "TMPDIR": "/var/tmp"}, BASE)
    assert with_session.socket_dir == endpoints({}, BASE).socket_dir


def test_each_role_has_an_alias_and_a_password_file_and_no_password():
    stack = endpoints({}, BASE)
    assert {alias: database["USER"] for alias, database in stack.databases.items()} == {
        "default": "app",
        "owner": "owner",
        "erase": "erase",
    }
    assert all("PASSWORD" not in database for database in stack.databases.values())
    assert stack.databases["default"]["OPTIONS"]["passfile"] == str(BASE / ".state/secrets/app.pgpass")


def test_only_the_serving_role_is_pooled():
    databases = endpoints({"AGENTSTATE_POOL": "8", "AGENTSTATE_CONN_MAX_AGE": "60"}, BASE).databases
    assert databases["default"]["OPTIONS"]["pool"]["max_size"] == 8
    assert databases["default"]["CONN_MAX_AGE"] == 0  # Django refuses a pool with lasting connections
    assert "pool" not in databases["owner"]["OPTIONS"]


def test_outside_servers_are_used_with_every_option_of_their_url():
    stack = endpoints(OUTSIDE, BASE)
    default = stack.databases["default"]
    assert not stack.embedded
    assert (default["HOST"], default["PORT"], default["NAME"]) == ("db.example", "6432", "main")
    assert (default["USER"], default["PASSWORD"]) == ("app", "p@ss")
    assert default["OPTIONS"] == {"sslmode": "require", "options": "-c idle_in_transaction_session_timeout=30s"}
    assert stack.broker_url == "redis://:s@r:6379/3"
    assert stack.cache_url == "redis://:s@r:6379/4"
    assert stack.channel_url == "redis://:s@r:6379/5"


def test_the_options_of_an_outside_url_go_before_ours():
    outside = {**OUTSIDE, "DATABASE_URL": "postgresql://app@db/main?options=-c%20work_mem%3D8MB"}
    databases = endpoints(outside, BASE).databases
    bound = "-c idle_in_transaction_session_timeout=30s"
    assert databases["default"]["OPTIONS"]["options"] == f"{bound} -c work_mem=8MB"
    assert databases["erase"]["OPTIONS"]["options"].startswith(bound)
    assert bound not in databases["owner"]["OPTIONS"].get("options", "")  # migrations may take their time


def test_an_outside_redis_may_be_a_socket():
    stack = endpoints({**OUTSIDE, "REDIS_URL": "unix:///run/redis.sock?db=4"}, BASE)
    assert stack.broker_url == "redis+socket:///run/redis.sock?virtual_host=4"
    assert stack.cache_url == "unix:///run/redis.sock?db=5"


def test_outside_migrations_run_as_the_owner_where_one_is_named():
    stack = endpoints({**OUTSIDE, "DATABASE_OWNER_URL": "postgresql://boss@db/main"}, BASE)
    assert stack.databases["owner"]["USER"] == "boss"
    assert endpoints(OUTSIDE, BASE).databases["owner"]["USER"] == "app"


@pytest.mark.parametrize("one", ["DATABASE_URL", "REDIS_URL"])
def test_half_of_the_outside_servers_is_refused(one: str):
    with pytest.raises(HalfOutside, match="need both"):
        endpoints({one: OUTSIDE[one]}, BASE)


def test_the_bank_of_an_outside_installation_is_named_or_absent():
    assert endpoints(OUTSIDE, BASE).bank_dsn == ""
    assert endpoints({**OUTSIDE, "BANK_DATABASE_URL": "dbname=b"}, BASE).bank_dsn == "dbname=b"


@pytest.mark.parametrize("words", [["--state-dir", "/a b"], ["--state-dir=/a b"]])
def test_the_state_directory_can_be_named_for_every_command(words: list[str]):
    environ: dict[str, str] = {}
    assert commandline.take_state_dir(["manage.py", "token", *words, "alice"], environ) == [
        "manage.py",
        "token",
        "alice",
    ]
    assert environ == {"AGENTSTATE_STATE_DIR": "/a b"}


def test_a_state_directory_without_a_name_is_refused():
    with pytest.raises(StateDirUnusable):
        commandline.take_state_dir(["manage.py", "up", "--state-dir"], {})


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("", False),
        ("help", False),
        ("up", False),
        ("token --help", False),
        ("check", False),
        ("check --database default", True),
        ("token alice", True),
        ("migrate", True),
    ],
)
def test_servers_start_only_for_commands_that_need_them(line: str, needed: bool):
    assert commandline.needs_servers(["manage.py", *line.split()]) is needed
