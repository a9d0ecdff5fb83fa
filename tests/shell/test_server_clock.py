"""What is written and promised hangs on PostgreSQL's clock, whatever the clock of this machine shows."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest

from audit import ledger, server_clock
from sessions.models.sessions import ApprovalRequest
from tests.shell.bank_world import opened, say, work

pytestmark = pytest.mark.django_db(transaction=True)
SKEW = 7 * 60.0  # seconds


@pytest.fixture(params=[SKEW, -SKEW])
def wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """This machine's clock, set seven minutes forward or back while everything runs."""
    server_clock.now()
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + request.param)
    return float(request.param)


def servers() -> datetime:
    ((at,),) = ledger.run("SELECT clock_timestamp()", {})
    return at


def test_it_is_the_servers_instant_on_a_machine_whose_clock_was_set(wrong_clock: float):
    before, ours, after = servers(), server_clock.now(), servers()
    assert before - timedelta(seconds=0.5) <= ours <= after + timedelta(seconds=0.5)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One item for every time that the server is asked from now on."""
    server_clock.now()
    ask, times = server_clock._ask, list[None]()

    def counted() -> server_clock._Asked:
        times.append(None)
        return ask()

    monkeypatch.setattr(server_clock, "_ask", counted)
    return times


def test_the_server_is_not_asked_for_every_instant(asked: list[None]):
    instants = [server_clock.now() for _ in range(1000)]
    assert instants == sorted(instants)
    assert not asked


def test_it_is_asked_anew_once_the_answer_is_old(asked: list[None], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_clock, "FRESH_SECONDS", 0.0)
    server_clock.now()
    assert asked


def test_a_request_has_its_whole_term_whatever_the_workers_clock_shows(bank, wrong_clock: float):
    session = opened()
    work()
    say(session, "I want to move $1,200.00 from savings to checking.")
    work()
    say(session, "Yes, that is right.")
    before = servers()
    work()
    after = servers()
    asked = ApprovalRequest.objects.get(session=session)
    assert asked.expires_at - asked.asked_at > timedelta(minutes=5)
    assert before - timedelta(seconds=30) <= asked.asked_at <= after + timedelta(seconds=30)
