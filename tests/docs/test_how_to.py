"""The pages of docs/how-to: each diff applies to the tree, and the change that it makes works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs" / "how-to"
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRODUCT = ("agentstate", "demo", "audit", "sessions", "templates", "pyproject.toml", "ARCHITECTURE.md")
TESTS = ("tests/*.py", "tests/core", "tests/shell", "tests/vectors", "tests/docs", "docs/alerts.md")
PYTEST = ("-m", "pytest", "-q", "-p", "no:django", "-p", "no:cacheprovider")
MAX_SECONDS = 60  # of a check that takes about five
DJANGO = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "agentstate.settings"
os.environ["AGENT_MODULES"] = "demo.bank_agent.agent"
os.environ["LIBRARY_FOLDERS"] = "demo/bank_agent/library"
import django
django.setup()
from django.urls import resolve
"""
COMMAND = f"""{DJANGO}
from sessions.versions import api
found = resolve("/api/v1/sessions/0/checkpoints/before the money")
assert found.func.view_class.delete.operation is api.remove_checkpoint_name
assert found.kwargs["name"] == "before the money"
"""
PAGE = f"""{DJANGO}
from unittest.mock import patch
from django.template.loader import render_to_string
from agentstate import clock
from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied
from sessions.agent_pages import pages, queries
from sessions.library import folders
folders.use(None)  # no database says what is in force
assert resolve("/agents/").func is pages.agents
with patch.object(queries, "teams_with", return_value=["a team"]):
    lines = queries.agent_lines(User())
shown = render_to_string("agent_sessions/agents.html", {{"agents": lines, "at": clock.now()}})
assert '<th scope="row">bank</th>' in shown and "transfer" in shown
with patch.object(queries, "teams_with", return_value=[]):
    try:
        queries.agent_lines(User())
    except PermissionDenied:
        raise SystemExit
raise SystemExit("a person without the permission sees the agents")
"""
CHECKS: dict[str, list[tuple[str, ...]]] = {
    "add-a-command": [
        ("-c", COMMAND),
        (
            *PYTEST,
            "tests/core/test_versions.py",
            "tests/core/test_vocabulary.py",
            "tests/core/test_words.py",
            "tests/core/test_upcasting.py",
        ),
    ],
    "add-a-page": [("-c", PAGE)],
    "add-an-alert-rule": [(*PYTEST, "tests/core/test_alert_rules.py", "tests/docs/test_alerts_doc.py")],
}


def diff_of(page: str) -> str:
    """Returns the diff of the page. Raises ValueError unless there is exactly one."""
    (found,) = DIFF.findall((PAGES / f"{page}.md").read_text())
    return str(found)


def copied(folder: Path) -> Path:
    """Returns a copy of the tree's files, as they are now, in `folder`."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PRODUCT, *TESTS]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def run(folder: Path, *arguments: str, given: str = "") -> None:
    """Runs a program in `folder`. Fails with its output unless it succeeds in time."""
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("DJANGO_SETTINGS_MODULE", None)  # set where these tests run with Django
    done = subprocess.run(
        arguments, cwd=folder, env=environment, input=given, capture_output=True, text=True, timeout=MAX_SECONDS
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]


def test_every_page_has_a_check():
    assert {page.stem for page in PAGES.glob("*.md")} == set(CHECKS)


@pytest.mark.parametrize("page", CHECKS)
def test_the_page_names_every_file_of_its_diff(page):
    text = DIFF.sub("", (PAGES / f"{page}.md").read_text())
    changed = re.findall(r"^diff --git a/\S+ b/(\S+)$", diff_of(page), re.MULTILINE)
    assert changed
    assert [file for file in changed if f"`{file}`" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", CHECKS)
def test_the_diff_of_the_page_applies_and_its_change_works(page, tmp_path):
    folder = copied(tmp_path)
    run(folder, "git", "apply", "-", given=diff_of(page))
    for check in CHECKS[page]:
        run(folder, sys.executable, *check)
