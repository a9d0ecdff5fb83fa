"""Many clocks may run, one ticks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from queue import Empty

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from agentstate import leader
from agentstate.celery import app
from sessions.automation.triggers import clock, firings
from sessions.automation.triggers import repository as keeping
from sessions.automation.triggers.beat import BeatLeader, Elected
from sessions.models.sessions import AgentSession
from sessions.models.triggers import Beat, Trigger, TriggerFiring
from tests import cast
from tests.processes import ROOT, eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clocks(monkeypatch):
    monkeypatch.setattr(leader, "HEARTBEAT", 0.0)  # ask the database at every look
    made = [BeatLeader(), BeatLeader()]
    yield made
    for each in made:
        each.candidate.resign()


def test_of_two_clocks_one_ticks_and_the_other_takes_over_with_a_higher_number(clocks):
    first, second = clocks
    assert (first.is_ours(), second.is_ours()) == (True, False)
    first.candidate.resign()
    assert (second.is_ours(), first.is_ours()) == (True, False)
    assert second.candidate.fence == first.candidate.fence + 1 == Beat.objects.get().fence


def test_a_clock_whose_connection_was_cut_notices_that_another_was_elected(clocks):
    first, second = clocks
    assert first.is_ours()
    with psycopg.connect(**{**connection.get_connection_params(), "cursor_factory": None, "context": None}) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [first.candidate._lock.info.backend_pid])
    assert second.is_ours() or second.is_ours()
    assert not first.is_ours()
    assert second.is_ours()


def test_a_clock_that_was_deposed_by_number_alone_stops(clocks):
    first, _ = clocks
    assert first.is_ours()
    Beat.objects.update(fence=99)
    assert not first.is_ours()


def test_a_clock_without_the_place_sends_nothing(clocks, monkeypatch):
    first, _ = clocks
    assert first.is_ours()
    sent = []
    waiting = Elected(app=app, lazy=True)
    waiting.setup_schedule()
    monkeypatch.setattr(waiting, "apply_async", lambda entry, **_: sent.append(entry.name))
    try:
        assert waiting.tick() >= 0
        assert sent == []
        first.candidate.resign()
        eventually(lambda: waiting.tick() >= 0 and "sweep" in sent)
    finally:
        waiting._finalize.cancel()
        waiting.leader.candidate.resign()


def scheduled(name: str = "daily", **schedule) -> Trigger:
    team = cast.retail()
    opens = {"open": {"agent": "bank", "customer": "'C-1001'"}}
    definition = {"on": {"schedule": schedule}, "do": opens}
    return keeping.keep(team.tenant_id, team.pk, cast.adam().actor, name, definition)


@contextmanager
def beats(number: int, folder: Path) -> Iterator[dict[int, subprocess.Popen[bytes]]]:
    """Clocks as `up` starts them, by their pid."""
    words = ("celery", "-A", "agentstate.celery", "beat", "--pidfile", "", "--loglevel", "WARNING")
    env = {**os.environ, "AGENTSTATE_STATE_DIR": str(settings.STATE_DIR)}
    log = (folder / "beat.log").open("wb")
    started = [subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, env=env, stderr=log) for _ in range(number)]
    try:
        yield {each.pid: each for each in started}
    finally:
        for each in started:
            each.kill()
            each.wait()
        log.close()


def ticking() -> int:
    """The pid of the clock that was elected last; 0 before there was one."""
    row = Beat.objects.first()
    return int(row.who.rpartition("/")[2]) if row else 0


def worked() -> None:
    """What a worker does on each tick that has come."""
    with app.connection_for_read() as broker, suppress(Empty):
        queue = broker.SimpleQueue(settings.CELERY_TASK_DEFAULT_QUEUE)
        while True:
            message = queue.get(timeout=0.1)
            message.ack()
            if message.headers["task"] == "sessions.tasks.fire_triggers":
                clock.take_in()
                firings.fire_due()


def test_kill_9_of_the_clock_that_ticks_loses_no_time_and_repeats_none(tmp_path):
    triggers = [scheduled(f"at-{number}", once="2031-01-01T00:00:00+00:00") for number in range(12)]
    with beats(2, tmp_path) as both:
        eventually(lambda: ticking() in both, 60, "one of them is elected")
        first, began = ticking(), keeping.database_now()
        for number, trigger in enumerate(triggers):
            Trigger.objects.filter(pk=trigger.pk).update(next_at=began + timedelta(seconds=0.5 * number))
        eventually(lambda: worked() or TriggerFiring.objects.count() >= 3, 20, "some times have come")
        os.kill(first, signal.SIGKILL)
        eventually(lambda: worked() or TriggerFiring.objects.filter(state="fired").count() == 12, 40, "all have come")
        assert {ticking()} == set(both) - {first}
    fired = list(TriggerFiring.objects.values_list("trigger", flat=True))
    assert sorted(fired) == sorted(trigger.pk for trigger in triggers)
    assert AgentSession.objects.count() == 12
    assert Beat.objects.get().fence == 2


def late(trigger: Trigger, seconds: int) -> None:
    """As if so much time had passed since it was switched on."""
    trigger.since -= timedelta(seconds=seconds)
    trigger.next_at -= timedelta(seconds=seconds)
    trigger.save()


def test_a_time_that_has_come_is_acted_on_once_whoever_looks():
    trigger = scheduled(every=3600)
    assert clock.take_in() == 0
    late(trigger, 3601)
    assert clock.take_in() == 1
    assert clock.take_in() == 0
    firings.fire_due()
    assert [each.state for each in TriggerFiring.objects.all()] == ["fired"]
    trigger.refresh_from_db()
    assert trigger.next_at > keeping.database_now()


@pytest.mark.parametrize(("catch_up", "made"), [("none", 0), ("once", 1), ("all", 5)])
def test_what_was_missed_while_everything_was_down_follows_the_schedules_rule(catch_up, made):
    trigger = scheduled(every=600, catch_up=catch_up)
    late(trigger, 5 * 600 + 300)
    assert clock.take_in() == made


def test_a_schedule_that_is_switched_off_passes_its_times_and_begins_anew():
    trigger = scheduled(every=3600)
    late(trigger, 3601)
    keeping.switch(trigger.pk, False, cast.adam().actor)
    assert clock.take_in() == 0
    keeping.switch(trigger.pk, True, cast.adam().actor)
    trigger.refresh_from_db()
    assert clock.take_in() == 0
    assert trigger.next_at > keeping.database_now()


def test_once_is_over_once_it_has_come():
    trigger = scheduled(once="2031-01-01T00:00:00+00:00")
    late(trigger, 20 * 365 * 24 * 3600)
    Trigger.objects.update(next_at=keeping.database_now() - timedelta(seconds=5))
    clock.take_in()
    trigger.refresh_from_db()
    assert TriggerFiring.objects.count() == 1
