"""Old and new workers side by side: real processes with other registries. What one does not know, it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from uuid import UUID

import pytest
from django.conf import settings

from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.interventions import queries as interventions_queries
from sessions.models.sessions import AgentSession
from sessions.web import rebuild
from tests import cast
from tests.processes import ROOT
from tests.shell import rolling_worker
from tests.shell.bank_world import kinds, opened, state

pytestmark = pytest.mark.django_db(transaction=True)


def worker(*words: str) -> None:
    """A worker process works off what is due."""
    env = {**os.environ, "AGENTSTATE_STATE_DIR": str(settings.STATE_DIR)}
    command = [sys.executable, "-m", "tests.shell.rolling_worker", *words]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def new(*words: str) -> None:
    worker("--tool", "roll_out=2", *words)


@pytest.fixture
def session() -> UUID:
    """A session of an agent that this process, its web, knows with the new tool; its call waits for a person."""
    if "rolling" not in registry.names():
        rolling_worker.known({"roll_out": 2})
    made = opened(agent="rolling")
    conversation_commands.say(cast.cleo(), made, "Go.")
    new()
    return made


def approve(session: UUID) -> None:
    (line,) = [each for each in approvals_queries.requests(cast.alice()) if each.session == session]
    approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("approve"))


@pytest.mark.parametrize(
    ("old", "why"),
    [
        ((), "unknown_tool roll_out"),
        (("--tool", "roll_out=1"), "unknown_tool roll_out 2"),
        (("--tool", "roll_out=2", "--without", "decision.made"), "unknown_entry"),
    ],
    ids=["tool", "version", "entry"],
)
def test_what_an_old_worker_does_not_know_is_parked_by_name_and_done_by_a_new_one(session, old, why):
    approve(session)
    before = kinds(session)
    worker(*old)
    row = AgentSession.objects.get(pk=session)
    assert (row.stalled, row.lease_until, row.holder) == (why, None, None)
    assert kinds(session) == before, "nothing failed, nothing was written"
    assert [line.id for line in interventions_queries.stuck(cast.alice())] == [session]
    new()
    assert kinds(session).count("tool.returned") == 1
    assert AgentSession.objects.get(pk=session).stalled == ""
    assert rebuild.check(session) == []


def test_an_agent_that_a_worker_does_not_know_is_left_to_others(session, monkeypatch):
    approve(session)
    env = {
        **os.environ,
        "AGENTSTATE_STATE_DIR": str(settings.STATE_DIR),
        "DJANGO_SETTINGS_MODULE": "agentstate.settings",
    }
    code = "import django; django.setup(); from sessions.runtime import advance; advance.advance_ready()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, timeout=60, check=True, capture_output=True)
    assert AgentSession.objects.get(pk=session).stalled == "unknown_agent"
    new()
    assert state(session).calls
    assert kinds(session).count("tool.returned") == 1
