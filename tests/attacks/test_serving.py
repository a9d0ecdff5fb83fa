"""Rude clients and careless hands against the running console: moved logs, half-open connections, huge requests."""

from __future__ import annotations

from uuid import uuid4

import httpx
import pytest

from tests.attacks.client import eventually
from tests.attacks.stack import Stack
from tests.processes import is_alive


def _asks_for_nothing(stack: Stack) -> str:
    """Asks for a page that does not exist, of which the web process writes a line; returns its address."""
    address = f"/{uuid4().hex}/"
    assert httpx.get(stack.url.rstrip("/") + address, trust_env=False).status_code == 404
    return address


@pytest.mark.alone
def test_h3_moved_log_files_are_begun_anew_and_nothing_ends(stack: Stack) -> None:
    before, folder = stack.up.pids(), stack.state / "log"
    for log in folder.glob("*.log"):
        log.rename(log.with_suffix(".moved"))
    address = _asks_for_nothing(stack)
    eventually(lambda: (folder / "web.log").exists() and address in (folder / "web.log").read_text(), "a new log")
    assert stack.up.process.poll() is None, stack.up.said
    assert stack.up.pids() == before


@pytest.mark.alone
def test_h3_a_moved_log_folder_ends_nothing_and_a_child_without_a_log_comes_back(stack: Stack) -> None:
    folder = stack.state / "log"
    folder.rename(stack.state / "log.moved")
    _asks_for_nothing(stack)
    stack.up.kill("beat")
    (stack.state / "log.moved").rename(folder)
    address = _asks_for_nothing(stack)
    eventually(lambda: address in (folder / "web.log").read_text(), "the log goes on")
    assert "bytes of this log could not be written" in (folder / "web.log").read_text()
    assert stack.up.process.poll() is None, stack.up.said
    assert all(map(is_alive, stack.up.pids().values()))
