"""docs/connecting.md: each of its files runs as it stands, in processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from agentstate.stack.ports import any_free
from sessions.tools.mcp import servers
from tests.claims import ROOT

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = (ROOT / "docs" / "connecting.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
JSON = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
CLERKS, ENDPOINT, PROGRAM, GRAPH = PYTHON


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The folder with the page's files, and its program at work; the environment of who uses it."""
    (tmp_path / "policies" / "desk").mkdir(parents=True)
    files = {"clerks.py": CLERKS, "answering.py": ENDPOINT, "program.py": PROGRAM}
    files |= {"policies/desk/1.json": JSON[0], "policies/desk/1.cases.json": JSON[1]}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    port = str(any_free())
    program = subprocess.Popen([sys.executable, str(tmp_path / "program.py"), port])
    yield {
        **os.environ,
        "AGENTSTATE_STATE_DIR": str(settings.STATE_DIR),
        "PYTHONPATH": str(tmp_path),
        "AGENT_MODULES": "clerks",
        "LIBRARY_FOLDERS": str(tmp_path),
        "DESK_MODEL": "mine",
        "DESK_URL": f"http://127.0.0.1:{port}/v1",
    }
    program.terminate()
    program.wait(10)


TALK = """
from sessions.approvals import commands, queries
from tests import cast
from tests.shell.bank_world import opened, say, state, work

session = opened("C-7", agent="clerk", channel="chat")
say(session, "Are you open on Sunday?")
print(state(session).items[-1].text)
say(session, "Please book a visit on Monday")
(request,) = queries.requests(cast.alice())
print(request.preview)
commands.decide(cast.alice(), request.id, commands.Decision("approve"))
work()
print(state(session).pad["visit"]["booked"], state(session).items[-1].text)
"""


def test_a_program_over_plain_http_is_an_agent_whose_visits_a_person_approves(desk):
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", TALK]
    done = subprocess.run(command, cwd=ROOT, env=desk, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    hours, asked, booked = done.stdout.splitlines()
    assert "never" in hours
    assert asked == "Book a visit on Monday"
    assert booked.startswith("Monday Here is what I found")


def test_the_other_files_of_the_page_are_what_they_say():
    compile(GRAPH, "answering.py", "exec")
    assert servers.load(JSON[2].encode()).known("find").effect == "pure"
    assert {"clerks", "answering"} <= set(re.findall(r"`desk/(\w+)\.py`", TEXT))
