"""One running demo and one Chromium for the tests of this folder; each test gets browsers of its own.

A test fails when a page broke its content security policy or put an error on the console, whatever else it
found. Where no Chromium can be had the tests are skipped, loudly; where CI is set they fail.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import chromium
from tests.browser.console import Desk, chromium_browser
from tests.browser.demo import Demo
from tests.processes import ROOT

MCP_SERVER = ROOT / "tests" / "shell" / "mcp_server.py"  # from which an admin may accept tools


@pytest.fixture(scope="session")
def found_chromium() -> None:
    """Skip, or fail in CI, unless there is a Chromium."""
    try:
        chromium.find()
    except chromium.NoChromium as error:
        if os.environ.get("CI"):
            pytest.fail(f"no Chromium (tried {error})", pytrace=False)
        pytest.skip(f"no Chromium (tried {error})")


@pytest.fixture(scope="package")
def demo(found_chromium: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The product and its demo, in which nobody calls by themselves."""
    tools = tmp_path_factory.mktemp("tools")
    (tools / "mcp").mkdir()
    server = {"name": "crm", "command": [sys.executable, str(MCP_SERVER)], "tools": {"lookup": {"effect": "pure"}}}
    (tools / "mcp" / "crm.json").write_text(json.dumps(server))
    running = Demo(tmp_path_factory.mktemp("demo") / "state", TOOL_FOLDER=str(tools))
    yield running
    running.stop()


# Not for the session: while Playwright runs, its event loop is this thread's, and other folders' tests want their own.
@pytest.fixture(scope="module")
def browser(found_chromium: None) -> Iterator[Browser]:
    """A Chromium."""
    with chromium_browser() as started:
        yield started


@pytest.fixture
def desk(browser: Browser, demo: Demo) -> Iterator[Desk]:
    """Browsers for people. Afterwards nothing may have complained but what the test expected."""
    opened = Desk(browser, demo)
    yield opened
    opened.close()
    assert opened.complaints.unexpected() == []
