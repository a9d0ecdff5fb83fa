"""Nobody is forgotten: whatever a worker, a clock or a broken session does, what is due is found again."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from celery import current_app
from django.conf import settings
from django.test import Client

from agentstate import clock
from agentstate.engine.decide import Fail
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.session import calls_in
from audit import keys, ledger
from sessions import tasks
from sessions.conversation import commands as conversation_commands
from sessions.core import announcements, states
from sessions.core.committed import Lease
from sessions.models.sessions import AgentSession, ApprovalRequest
from sessions.runtime import advance, execution, leases, sweeper
from tests import cast
from tests.processes import eventually
from tests.shell.bank_world import opened, say, state, work

pytestmark = pytest.mark.django_db(transaction=True)


def row(session: UUID) -> AgentSession:
    return AgentSession.objects.get(pk=session)


def waiting_for_a_retry(monkeypatch, pause: float) -> UUID:
    """A session whose call failed for now, and is to be tried again `pause` seconds later."""
    session = opened()
    with monkeypatch.context() as patched:
        fails = lambda _session, _state, call: Fail(call.id, call.attempt, "away", True, pause)  # noqa: E731
        patched.setattr(execution, "run_call", fails)
        say(session, "What is my balance?")
    assert calls_in(state(session), CallStatus.READY)
    assert row(session).ready_at is not None
    return session


def sleep_until_due(session: UUID) -> None:
    ledger.run(
        "SELECT pg_sleep(greatest(0, extract(epoch FROM ready_at - now()) + 0.01))"
        " FROM agent_sessions_agentsession WHERE id = %(id)s",
        {"id": session},
    )


def test_a_worker_whose_clock_is_behind_forgets_no_retry(bank, monkeypatch):
    """The database says that the retry is due, the worker's clock says not yet: the session must come again."""
    session = waiting_for_a_retry(monkeypatch, 0.2)
    sleep_until_due(session)
    with monkeypatch.context() as patched:
        patched.setattr(advance, "now", lambda: clock.now() - timedelta(seconds=30))
        patched.setattr("sessions.core.commit.now", lambda: clock.now() - timedelta(seconds=30))
        lease = leases.claim()
        assert lease is not None
        advance.advance(lease)
    assert row(session).ready_at is not None


def test_a_retry_that_falls_due_while_the_worker_lets_go_is_not_forgotten(bank, monkeypatch):
    session = waiting_for_a_retry(monkeypatch, 0.5)
    AgentSession.objects.filter(pk=session).update(fence=7)
    until = min(call.retry_at for call in calls_in(state(session), CallStatus.READY))
    sleep_until_due(session)
    leases.release(Lease(session, 7), row(session).seq, until)
    sleep_until_due(session)
    work()
    assert not calls_in(state(session), CallStatus.READY)


def test_a_request_that_cannot_be_expired_does_not_keep_others_from_it(bank, monkeypatch):
    """One broken session must not stop the sweeper: the other requests expire, the due sessions are advanced."""
    broken, whole = opened("C-1001"), opened("C-1002")
    for session in (broken, whole):
        say(session, "Move $900.00 from savings to checking.")
        say(session, "Yes.")
    past = clock.now() - timedelta(hours=1)
    ApprovalRequest.objects.filter(session=broken).update(expires_at=past)
    ApprovalRequest.objects.filter(session=whole).update(expires_at=past + timedelta(minutes=1))
    real = sweeper.person_command

    def fails(session, *args, **wishes):
        if session == broken:
            raise keys.Erased("gone")
        return real(session, *args, **wishes)

    monkeypatch.setattr(sweeper, "person_command", fails)
    tasks.sweep()
    assert ApprovalRequest.objects.get(session=whole).state == "expired"
    assert row(whole).waiting_for == "customer"


def test_a_thread_that_was_taken_over_leaves_the_lease_of_its_successor_alone():
    """Both may be threads of one process: the old one's end must not stop the new one's heartbeat."""
    session, held = uuid4(), leases.heartbeat._held
    old, new = leases.heartbeat.keeping(Lease(session, 1)), leases.heartbeat.keeping(Lease(session, 2))
    old.__enter__()
    new.__enter__()
    old.__exit__(None, None, None)
    assert held[session] == 2
    new.__exit__(None, None, None)
    assert session not in held


def test_a_heartbeat_takes_no_lease_back_that_was_given_up():
    session = opened()
    AgentSession.objects.filter(pk=session).update(fence=3, lease_until=None)
    leases.heartbeat._renew({session: 3})
    assert row(session).lease_until is None


def test_what_another_process_appended_is_seen_by_a_worker_that_remembers_the_session(bank):
    """Web and worker are two processes: what the worker remembers of a resting session is always outdated."""
    session = opened()
    say(session, "Hello!")
    remembered = states.recall(session)
    conversation_commands.say(cast.cleo(), session, "What is my balance?")
    states.forget_all()
    states.remember(remembered)
    lease = leases.claim()
    advance.advance(lease)
    assert state(session).items[-1].role == "agent"
    assert row(session).waiting_for == "customer"


def test_hints_for_workers_that_are_not_there_do_not_pile_up(bank, monkeypatch):
    monkeypatch.setattr(announcements, "MOST_WAITING", 5)
    with current_app.pool.acquire(block=True) as broker:
        waiting = broker.default_channel.client
        for _ in range(20):
            announcements.wake_worker()
        eventually(lambda: waiting.llen("agentstate") >= 5)
        eventually(lambda: announcements._waker._hints.empty())
        assert waiting.llen("agentstate") <= 6


def test_a_health_check_that_no_worker_answers_takes_no_connection_from_those_who_wake_workers():
    """Its connection still waits for an answer. The next user would read that one, and the pool would lose it."""
    for _ in range(3):
        assert Client().get("/healthz").json()["worker"] is False
        assert not announcements._enough_hints()


def test_a_worker_ahead_of_the_clock_of_those_who_woke_it_does_its_work(bank):
    """Hints live longer than clocks differ by: a worker compares their expiry with its own clock."""
    announcements.wake_worker()
    with current_app.pool.acquire(block=True) as broker:
        waiting = broker.default_channel.client
        eventually(lambda: waiting.llen("agentstate") >= 1)
        hint = json.loads(waiting.lrange("agentstate", 0, 0)[0])
    expires = datetime.fromisoformat(hint["headers"]["expires"])
    assert expires > clock.now() + timedelta(minutes=50)
    for each in settings.CELERY_BEAT_SCHEDULE.values():
        assert each["options"]["expires"] >= 3600


def test_what_piled_up_for_the_sweeper_is_done_once(bank, monkeypatch):
    swept = []
    monkeypatch.setattr(sweeper, "expire_due", lambda: swept.append(1))
    monkeypatch.setattr(tasks, "_sweeps", tasks._Pace(60))
    for _ in range(50):
        tasks.sweep()
    assert len(swept) == 1
