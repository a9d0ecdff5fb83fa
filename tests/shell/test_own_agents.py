"""Agents, tools and policies of an installation: a module and a folder that settings name, read at every start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.processes import ROOT

MODULE = """
from sessions.agents.registry import Agent, register
from sessions.tools.registry import tool

@tool(name="opening_hours", version=1, description="When a branch is open.", effect="pure",
      arguments={"type": "object", "additionalProperties": False})
def opening_hours(arguments, context):
    return {"open": "09:00", "close": "17:00"}

register(Agent("clerk", "Be brief.", ("opening_hours",), "desk", {}))
"""
POLICY = {
    "name": "desk",
    "version": 1,
    "rules": [{"name": "any", "tools": ["*"], "when": "true", "tier": 3, "gate": "approve", "why": "A person looks."}],
}
WANT = {"gate": "approve", "tier": 3, "rule": "any"}
CASES = {"cases": [{"name": "a call", "tool": "pay", "want": WANT}]}
ASKED = "from sessions.agents import registry as r; print(r.find('clerk').tools, r.policy_named('desk').reference)"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "clerks.py").write_text(MODULE)
    (tmp_path / "policies" / "desk").mkdir(parents=True)
    (tmp_path / "policies" / "desk" / "1.json").write_text(json.dumps(POLICY))
    (tmp_path / "policies" / "desk" / "1.cases.json").write_text(json.dumps(CASES))
    return tmp_path


def started(own: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A process that says what it knows of the agent."""
    env = {
        **os.environ,
        "AGENTSTATE_STATE_DIR": str(settings.STATE_DIR),
        "PYTHONPATH": str(own),
        "AGENT_MODULES": "clerks",
        "LIBRARY_FOLDERS": str(own),
        **more,
    }
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", ASKED]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_an_agent_with_a_tool_and_a_policy_of_its_own_is_there_in_every_process(own):
    done = started(own)
    assert (done.returncode, done.stdout) == (0, "('opening_hours',) desk@1\n"), done.stderr


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("clerks.py", "import nowhere", "AGENT_MODULES: clerks: ModuleNotFoundError"),
        ("clerks.py", MODULE.replace('("opening_hours",)', '("closing",)'), "tools that are not registered"),
        ("policies/desk/1.json", "{", "desk/1.json"),
        ("policies/desk/1.cases.json", '{"cases": []}', "rule 'any' decides no case"),
        ("policies/airline/1.json", "{}", "policies of 'airline' are in shipped already"),
    ],
)
def test_what_cannot_be_used_of_it_is_named_and_nothing_starts(own, file, text, named):
    (own / file).parent.mkdir(exist_ok=True)
    (own / file).write_text(text)
    done = started(own)
    assert done.returncode != 0
    assert named in done.stderr
