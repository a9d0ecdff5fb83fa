"""Global stops: nothing new begins once a person has said so, whatever a worker believed a moment before."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.core import stops
from sessions.models.sessions import AgentSession, Stop
from sessions.runtime import leases
from sessions.runtime.advance import advance
from sessions.stops import commands as stops_commands
from sessions.stops.commands import AlreadyStopped, NotStopped, UnknownStop
from tests import cast
from tests.processes import eventually
from tests.shell.bank_world import kinds, opened, say, state, work
from tests.shell.locks import another_connection, waits_for_a_lock
from tests.shell.test_contention import in_thread
from tests.shell.test_first_transfer import asks_for_a_transfer, pending

pytestmark = pytest.mark.django_db(transaction=True)
SCOPES = [("everything", ""), ("agent", "bank"), ("tool", "transfer"), ("team", "retail")]


@pytest.fixture(autouse=True)
def _nothing_remembered():
    stops.forget()
    yield
    stops.forget()


def approved(bank) -> Any:
    """A transfer that a person has let through and that no worker has seen yet."""
    session = asks_for_a_transfer()
    approvals_commands.decide(cast.alice(), pending(session).id, approvals_commands.Decision("approve"))
    return session


@pytest.mark.parametrize(("scope", "value"), SCOPES)
def test_a_stop_between_the_approval_and_the_intent_keeps_the_money_where_it_is(bank, scope, value):
    session = approved(bank)
    before = bank.transfers("C-1001")
    assert stops.remembered(cast.tenant().pk) == ()  # what the worker believes when it begins
    (row,) = stops_commands.stop(cast.alice(), scope, value, reason="wrong amounts")
    _as_another_process_believes()
    work()
    assert (bank.transfers("C-1001"), kinds(session).count("tool.returned")) == (before, _returned_before(session))
    assert AgentSession.objects.get(pk=session).ready_at is not None
    stops_commands.lift(cast.bob(), row.pk, "it was the test account")
    work()
    assert len(bank.transfers("C-1001")) == len(before) + 1
    call_command("rebuild", "--check")


def _as_another_process_believes(*rows: Stop) -> None:
    """A worker in another process has looked a moment ago, when these stops were in force."""
    names = ("pk", "team_id", "scope", "value", "sealed_reason", "by", "at")
    lines = tuple(stops.StopLine(*(getattr(row, name) for name in names)) for row in rows)
    stops._memory._seen[cast.tenant().pk] = (time.monotonic(), lines)


def _returned_before(session) -> int:
    return sum(1 for call in state(session).calls.values() if call.status == "done")


def test_a_model_that_is_being_asked_when_everything_is_stopped_is_not_heard(bank, monkeypatch):
    session = opened()
    conversation_commands.say(cast.cleo(), session, "What is my balance?")
    asked, may_answer = threading.Event(), threading.Event()
    script = registry.find("bank").script
    assert script is not None
    answer = type(script).answer

    def slowly(self, request, **more):
        asked.set()
        may_answer.wait(10)
        return answer(self, request, **more)

    monkeypatch.setattr(type(script), "answer", slowly)
    worker = threading.Thread(target=_one_advance)
    worker.start()
    assert asked.wait(10)
    (row,) = stops_commands.stop(cast.alice(), "agent", "bank", reason="it talks nonsense")
    said = kinds(session).count("message.added")
    may_answer.set()
    worker.join(20)
    assert (kinds(session).count("message.added"), kinds(session).count("model.dropped")) == (said, 1)
    monkeypatch.undo()
    stops_commands.lift(cast.alice(), row.pk, "mended")
    work()
    assert kinds(session).count("message.added") > said


def _one_advance() -> None:
    try:
        lease = leases.claim()
        assert lease is not None
        advance(lease)
    finally:
        connection.close()


def test_one_tool_is_stopped_and_the_agent_goes_on_without_it(bank):
    stops_commands.stop(cast.alice(), "tool", "transfer", reason="the desk is closed")
    session = opened()
    say(session, "What is my balance?")
    work()
    assert "tool.returned" in kinds(session)
    assert state(session).status == "idle"


def test_a_stop_is_set_once_lifted_once_and_both_are_in_the_staff_log(bank):
    (row,) = stops_commands.stop(cast.alice(), "everything", reason="drill")
    with pytest.raises(AlreadyStopped):
        stops_commands.stop(cast.bob(), "everything", reason="drill")
    assert [line.reason for line in stops.in_force(cast.tenant().pk)] == ["drill"]
    stops_commands.lift(cast.bob(), row.pk, "over")
    with pytest.raises(NotStopped):
        stops_commands.lift(cast.bob(), row.pk, "over")
    (again,) = stops_commands.stop(cast.alice(), "everything", reason="drill again")
    assert (Stop.objects.count(), again.lifted_at) == (2, None)


@pytest.mark.parametrize(
    ("scope", "value", "reason"),
    [
        ("planet", "", "x"),
        ("everything", "bank", "x"),
        ("agent", "nobody", "x"),
        ("tool", "", "x"),
        ("team", "no-such-team", "x"),
        ("everything", "", " "),
        ("everything", "", "x" * 501),
    ],
)
def test_what_cannot_be_stopped_is_refused(scope, value, reason):
    with pytest.raises(Invalid):
        stops_commands.stop(cast.alice(), scope, value, reason=reason)
    assert not Stop.objects.exists()


def test_only_who_may_stops_and_lifts_and_only_in_their_own_teams(bank):
    for user in (cast.vera(), cast.cleo()):
        with pytest.raises(PermissionDenied):
            stops_commands.stop(user, "everything", reason="x")
    with pytest.raises(PermissionDenied):
        stops_commands.stop(cast.charlie(), "team", "retail", reason="x")
    (row,) = stops_commands.stop(cast.alice(), "team", "retail", reason="x")
    with pytest.raises(UnknownStop):
        stops_commands.lift(cast.charlie(), row.pk, "x")


def test_a_stop_waits_for_the_commits_that_have_looked_and_the_next_ones_wait_for_it(bank):
    """A commit that saw no stop is still open: the command answers after it. A worker that comes meanwhile begins
    nothing.
    """
    session = approved(bank)
    begun = kinds(session).count("tool.intended")
    with another_connection() as commit:
        commit.execute("SELECT count(*) FROM agent_sessions_stop")
        stopping = in_thread(lambda: stops_commands.stop(cast.alice(), "everything", reason="wrong amounts"))
        eventually(lambda: waits_for_a_lock("agent_sessions_stop"), 2, "the stop waits for the open commit")
        worker = in_thread(work)
        assert stopping.is_alive()
        commit.commit()
        stopping.join(10)
    worker.join(10)
    assert Stop.objects.filter(lifted_at=None).count() == 1
    assert kinds(session).count("tool.intended") == begun


def test_no_commit_that_begins_an_effect_is_later_than_the_stop(bank):
    """Workers commit intents as fast as they can while a stop is set: after its command has returned, none comes."""
    sessions = [approved(bank) for _ in range(4)]
    done = threading.Event()

    def working() -> None:
        try:
            while not done.is_set():
                lease = leases.claim()
                if lease is not None:
                    advance(lease)
        finally:
            connection.close()

    workers = [threading.Thread(target=working) for _ in range(2)]
    for worker in workers:
        worker.start()
    stops_commands.stop(cast.alice(), "everything", reason="now")
    begun = [kinds(session).count("tool.intended") for session in sessions]
    threading.Event().wait(1.5)
    done.set()
    for worker in workers:
        worker.join(20)
    assert [kinds(session).count("tool.intended") for session in sessions] == begun


def test_what_is_approved_is_due_at_once_when_a_stop_is_lifted(bank):
    """The worker remembers the stop for a second: it asks the database once more before the session rests."""
    approved(bank)
    before = len(bank.transfers("C-1001"))
    (row,) = stops_commands.stop(cast.alice(), "tool", "transfer", reason="drill")
    stops.remembered(cast.tenant().pk)
    stops_commands.lift(cast.alice(), row.pk, "over")
    _as_another_process_believes(row)
    work()
    assert len(bank.transfers("C-1001")) == before + 1


def test_a_session_answers_while_an_approved_call_waits_for_a_stopped_tool(bank):
    session, before = approved(bank), bank.transfers("C-1001")
    (row,) = stops_commands.stop(cast.alice(), "tool", "transfer", reason="the desk is closed")
    work()
    told = kinds(session).count("model.answered")
    say(session, "What is my balance?")
    work()
    assert kinds(session).count("model.answered") > told
    assert not state(session).owes
    assert bank.transfers("C-1001") == before
    stops_commands.lift(cast.alice(), row.pk, "open again")
    work()
    assert len(bank.transfers("C-1001")) == len(before) + 1
