"""The queue of due rows: each row is handled once, by a worker whose lease is the newest, and none is lost."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import datetime, timedelta
from itertools import product
from uuid import UUID, uuid4

import pytest
from django.db import connection

from audit import ledger
from audit.server_clock import now
from sessions.core import due_work
from sessions.core.due_work import Claim, Queue, WorkState
from sessions.models.alerts import AlertWatch

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = Queue("agent_sessions_alertwatch", "due_at", key="session", lease=30.0, attempts=3)


def a_moment_ago() -> datetime:
    return now() - timedelta(seconds=1)


def rows(number: int) -> set[UUID]:
    """Due rows of a table with an instant, a lease and attempts."""
    made = [
        AlertWatch(session=uuid4(), tenant=uuid4(), team=uuid4(), seen=0, upto=1, due_at=now()) for _ in range(number)
    ]
    AlertWatch.objects.bulk_create(made)
    return {row.session for row in made}


def done(claim: Claim) -> None:
    assert ROWS.finish(claim, "due_at = NULL")


def fails(claim: Claim) -> None:
    raise ValueError(claim.key)


def never(claim: Claim, error: Exception) -> None:
    raise AssertionError(claim) from error


def lease_over() -> None:
    AlertWatch.objects.filter(lease_until__isnull=False).update(lease_until=a_moment_ago())


def test_many_workers_handle_each_row_once():
    meant, handled = rows(60), Counter()

    def work() -> None:
        ROWS.run(lambda claim: (handled.update([claim.key]), done(claim)), never, 1_000)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert handled == Counter(meant)


def test_a_worker_killed_between_claim_and_finish_leaves_its_row_to_another():
    (meant,) = rows(1)
    assert [claim.key for claim in ROWS.claim()] == [meant]  # and it is killed
    assert ROWS.run(done, never, 10) == 0
    lease_over()
    assert ROWS.run(done, never, 10) == 1
    lease_over()
    assert ROWS.run(done, never, 10) == 0


def test_a_worker_that_slept_through_its_lease_writes_nothing_though_the_attempts_began_anew():
    rows(1)
    (slept,) = ROWS.claim()
    lease_over()
    (second,) = ROWS.claim()
    ROWS.postpone(second, 0.0, counts=False)
    (third,) = ROWS.claim()
    assert third.attempt == slept.attempt == 1
    assert not ROWS.finish(slept, "due_at = NULL")
    assert not ROWS.postpone(slept, 60.0)
    assert AlertWatch.objects.get().lease_until == third.until
    done(third)


def test_a_row_that_fails_is_retried_later_each_time_and_at_last_given_up(monkeypatch):
    monkeypatch.setattr(due_work, "jitter", lambda base, attempt: base * 60.0 * 2**attempt)
    failing, well = rows(1), rows(1)
    given_up, pauses, handled = [], [], []

    def handle(claim: Claim) -> None:
        if claim.key in failing:
            fails(claim)
        handled.append(claim.key)
        done(claim)

    for _ in range(ROWS.attempts):
        ROWS.run(handle, lambda claim, error: (given_up.append((claim.key, type(error))), done(claim)), 10)
        for row in AlertWatch.objects.filter(session__in=failing, due_at__isnull=False):
            pauses.append((row.due_at - now()).total_seconds())
            AlertWatch.objects.filter(pk=row.pk).update(due_at=a_moment_ago())
    assert given_up == [(key, ValueError) for key in failing]
    assert [round(pause / 60) for pause in pauses] == [2, 4]
    assert set(handled) == well


def test_every_row_is_in_exactly_one_state():
    past, future = now() - timedelta(hours=1), now() + timedelta(hours=1)
    for due_at, lease_until in product((None, past, future), (None, past, future)):
        session = uuid4()
        AlertWatch.objects.create(
            session=session, tenant=session, team=session, seen=0, upto=1, due_at=due_at, lease_until=lease_until
        )
        states = (WorkState.IDLE, WorkState.WAITING, WorkState.DUE, WorkState.LEASED)
        found = [state for state in states if _is(session, state)]
        leased = lease_until == future
        expected = {None: WorkState.IDLE, past: WorkState.DUE, future: WorkState.WAITING}[due_at]
        assert found == [WorkState.LEASED if leased else expected]


def _is(session: UUID, state: WorkState) -> bool:
    where = state.where()
    return bool(
        ledger.run(f"SELECT 1 FROM agent_sessions_alertwatch WHERE session = %(id)s AND {where}", {"id": session})
    )
