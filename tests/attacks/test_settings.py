"""Starts that must not be: without a secret key, or with a setting that cannot work. Each ends with one line."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agentstate.stack.endpoints import endpoints
from agentstate.stack.ports import any_free
from tests.attacks.stack import Stack
from tests.processes import ROOT, environment

WEB = ("agentstate.serving", "-b", "127.0.0.1", "agentstate.asgi:application")
WORKER = ("celery", "-q", "-A", "agentstate.celery", "worker", "--pool", "threads", "--concurrency", "1")


def refused(folder: Path, *command: str, **env: str) -> str:
    """The one line that a process ends with by itself."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
        env=environment(AGENTSTATE_STATE_DIR=str(folder / "state"), PYTHONWARNINGS="ignore", C_FORCE_ROOT="1", **env),
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "Traceback" not in said
    line = said.strip().splitlines()[-1]
    assert len(said.strip().splitlines()) == 1, said
    return line


def up_refuses(folder: Path, **env: str) -> str:
    """The line that `up` ends with."""
    return refused(folder, "manage.py", "up", "--port", str(any_free()), **env)


def other_host(stack: Stack) -> Path:
    """A folder for another host of the installation."""
    return Path(tempfile.mkdtemp(dir=stack.folder))


def outside(stack: Stack, **env: str) -> dict[str, str]:
    """The settings of an installation whose servers are those of the one under attack."""
    there = endpoints({"AGENTSTATE_STATE_DIR": str(stack.state)}, ROOT)
    return {"DATABASE_URL": there.dsn("app", "agentstate"), "REDIS_URL": f"unix://{there.valkey_socket}?db=0", **env}


def test_a2_a_web_process_on_a_second_host_without_the_key_serves_nothing(stack: Stack) -> None:
    line = refused(other_host(stack), "-m", WEB[0], "-p", str(any_free()), *WEB[1:], **outside(stack))
    assert "SECRET_KEY is not set" in line
    assert "the same on every host" in line


def test_a2_a_worker_on_a_second_host_without_the_key_signs_nothing(stack: Stack) -> None:
    assert "SECRET_KEY is not set" in refused(other_host(stack), "-m", *WORKER, **outside(stack))


def test_a2_up_on_a_second_host_makes_no_key_of_its_own(stack: Stack) -> None:
    folder = other_host(stack)
    assert "SECRET_KEY is not set" in up_refuses(folder, **outside(stack))
    assert not list(folder.glob("state/secrets/django.key"))


@pytest.mark.parametrize("key", ["before-first-start", "x" * 64])
def test_a2_a_key_that_anybody_knows_or_guesses_is_refused(tmp_path: Path, key: str) -> None:
    line = up_refuses(tmp_path, SECRET_KEY=key)
    assert "SECRET_KEY" in line
    assert key not in line


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEASE_SECONDS", "x"),
        ("AGENTSTATE_WORKERS", "-1"),
        ("LIMITS", "foo"),
        ("LIBRARY_FOLDERS", "/there/is/none"),
        ("SITE_URL", "console.example"),
    ],
)
def test_a8_a_value_that_cannot_work_is_named_with_its_setting(tmp_path: Path, name: str, value: str) -> None:
    assert f"{name}='{value}'" in up_refuses(tmp_path, **{name: value})


@pytest.mark.parametrize("program", [WEB, WORKER])
def test_a8_no_program_ends_in_a_traceback_over_it(tmp_path: Path, program: tuple[str, ...]) -> None:
    assert "LEASE_SECONDS='x'" in refused(tmp_path, "-m", *program, LEASE_SECONDS="x")


def test_a8_a_wrong_password_of_the_database_is_named_and_not_repeated(stack: Stack) -> None:
    socket = endpoints({"AGENTSTATE_STATE_DIR": str(stack.state)}, ROOT).socket_dir
    url = f"postgresql://app:not-this@/agentstate?host={socket}"
    line = up_refuses(other_host(stack), **outside(stack, DATABASE_URL=url))
    assert "DATABASE_URL=" in line
    assert "password authentication failed" in line
    assert "not-this" not in line


def test_a8_servers_that_are_not_there_are_named(stack: Stack) -> None:
    command = ("manage.py", "up")
    nobody = f"127.0.0.1:{any_free()}"
    url = f"postgresql://app@{nobody}/agentstate"
    assert "DATABASE_URL=" in refused(other_host(stack), *command, **outside(stack, DATABASE_URL=url))
    assert "REDIS_URL=" in refused(other_host(stack), *command, **outside(stack, REDIS_URL=f"redis://{nobody}/0"))


def test_a8_a_command_names_them_too(stack: Stack) -> None:
    command = ("manage.py", "token", "bot")
    assert "REDIS_URL=" in refused(other_host(stack), *command, **outside(stack, REDIS_URL="redis://127.0.0.1:1/0"))
    assert "DATABASE_URL='nonsense'" in refused(other_host(stack), *command, **outside(stack, DATABASE_URL="nonsense"))


@pytest.mark.parametrize("name", ["BEHIND_TLS", "DEBUG", "EMAIL_USE_TLS", "LOG_SECOND_SIGNATURE", "AGENT_STREAMS"])
def test_a9_what_is_neither_yes_nor_no_is_refused(tmp_path: Path, name: str) -> None:
    assert f"{name}='maybe': want yes or no" in up_refuses(tmp_path, **{name: "maybe"})


def test_a9_a_proxy_that_nobody_named_is_asked_for(tmp_path: Path) -> None:
    assert "TRUSTED_PROXIES" in up_refuses(tmp_path, BEHIND_TLS="yes")
    assert "TRUSTED_PROXIES='the proxy'" in up_refuses(tmp_path, BEHIND_TLS="yes", TRUSTED_PROXIES="the proxy")
