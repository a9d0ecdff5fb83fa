"""The engine as a package: installed by pip into an environment of its own, it needs three packages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.claims import ROOT

PROGRAM = """
import sys
import agentstate.engine
from agentstate.threads import Agent
thread = Agent(lambda request: f"{len(request.messages)} messages").thread("C-1001")
thread.say("Hello")
print(thread.say("Are you there?"), [name for name in ("django", "sessions", "audit") if name in sys.modules])
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment in which the checkout is installed."""
    folder = tmp_path_factory.mktemp("package") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", ROOT], check=True, capture_output=True, timeout=300)
    return python


def test_the_package_brings_three_others(python: Path):
    listed = subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True)
    names = {each["name"].replace("_", "-") for each in json.loads(listed.stdout)} - {"pip", "setuptools"}
    assert names == {"agentstate", "cel-expr-python", "jsonschema-rs", "msgspec"}


def test_a_thread_runs_where_nothing_else_is_installed(python: Path, tmp_path: Path):
    done = subprocess.run([python, "-I", "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "3 messages []\n"
