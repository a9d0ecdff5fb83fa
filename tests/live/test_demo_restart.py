"""A restart of the demo ends the sessions of its callers: they are gone."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.processes import Running, eventually


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[list[Running]]:
    held = [Running.up(tmp_path / "state", "--demo")]
    yield held
    held[0].stop()


def sessions(running: Running) -> dict[str, dict[str, Any]]:
    """Every session that the callers see, by id."""
    url = running.ready(500)
    token = (running.state_dir / "demo" / "callers.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"{url}api/v1/sessions?limit=100", headers=headers, trust_env=False, timeout=20)
    return {each["id"]: each for each in answer.json()["sessions"]}


def on_a_line(running: Running) -> set[str]:
    return {name for name, each in sessions(running).items() if each["ended_at"] is None}


def test_a_restart_ends_the_sessions_of_callers_who_are_gone(demo: list[Running]):
    eventually(lambda: len(on_a_line(demo[0])) >= 3, 300, "callers talk")
    former = on_a_line(demo[0])
    demo[0].stop(signal.SIGTERM, seconds=60)
    demo[0] = Running.up(demo[0].state_dir, "--demo")
    eventually(lambda: not former & on_a_line(demo[0]), 300, "the former callers have hung up")
    eventually(lambda: on_a_line(demo[0]), 300, "others call")
    assert {sessions(demo[0])[name]["status"] for name in former} <= {"done", "failed", "cancelled"}
