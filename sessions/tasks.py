"""Celery tasks. A message is a hint that may be lost, repeated or late; the rows say what is to be done."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down

from agentstate.people.models import Tenant
from sessions.auditing import alterations
from sessions.automation.alerts import disk_space, escalation, evaluation
from sessions.automation.notifications import delivery, dispatch
from sessions.automation.notifications import retention as forgetting
from sessions.automation.service_levels import repository as levels
from sessions.automation.triggers import clock, entries, firings, rows
from sessions.core import access, announcements
from sessions.events import notices
from sessions.exports import builder
from sessions.privacy import erasure, pruning
from sessions.profiles import learning
from sessions.proposals import workflow
from sessions.runtime import advance, delegates, presence, sweeper
from sessions.runtime.drain import drain
from sessions.runtime.running_calls import abandoned
from sessions.tools.mcp.connections import kept


class _Pace:
    """Lets one through and, for so many seconds, no other: what piled up while nobody worked is done once."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._next, self._lock = seconds, 0.0, threading.Lock()

    def has_room(self) -> bool:
        """Whether it is time again."""
        with self._lock:
            if time.monotonic() < self._next:
                return False
            self._next = time.monotonic() + self._seconds
            return True


_sweeps = _Pace(0.5)
_triggers = _Pace(0.5)
_alerts = _Pace(0.5)
_notices = _Pace(0.5)


@shared_task(ignore_result=True)
def advance_ready() -> None:
    """Something is ready: take sessions that have work, one after the other, until there are none."""
    advance.advance_ready()


@shared_task(ignore_result=True)
def sweep() -> None:
    """Every second: free what dead workers held, expire requests, pass alerts on, announce what was not announced and
    learn from it, wake workers for what is due; and close the live views that nobody holds any more.
    """
    if not _sweeps.has_room():
        return
    presence.free_the_dead()
    sweeper.end_holds()
    sweeper.escalate_due()
    sweeper.expire_due()
    escalation.escalate_due()
    delegates.deliver_due()
    announcements.drain_outbox(older_than=2.0, first=followed)
    if sweeper.something_is_due():
        advance.advance_ready()
    access.close_lost()  # last: where nothing can be recorded, the rest must go on


def followed(announced: Sequence[announcements.Announced]) -> None:
    """What follows every commit, before it is forgotten that there was one: profiles learn, triggers and rules hear,
    people are told.
    """
    learning.teach_all({each.session for each in announced})
    entries.take_in(announced)
    evaluation.take_in(announced)
    notices.entries_in(announced)


@shared_task(ignore_result=True)
def look_for_alerts() -> None:
    """Every second: judge what was committed, and what has become due, by the rules of the teams."""
    if _alerts.has_room():
        evaluation.look_at_due()


@shared_task(ignore_result=True)
def look_at_disks() -> None:
    """Every ten seconds: raise an alert where a disk is nearly full."""
    disk_space.look()


@shared_task(ignore_result=True)
def fire_triggers() -> None:
    """Every second: take in what the clock and other applications' tables have for triggers, and act on what waits."""
    if not _triggers.has_room():
        return
    clock.take_in()
    rows.take_in()
    if firings.fire_due():
        announcements.wake_worker()


@shared_task(ignore_result=True)
def forget_firings() -> None:
    """Every ten minutes: keep the history of triggers short."""
    firings.forget_old()


@shared_task(ignore_result=True)
def notify() -> None:
    """Every second: tell people what is due, and send what is to leave the house."""
    if _notices.has_room():
        dispatch.tell_due()
        delivery.send_due()


@shared_task(ignore_result=True)
def forget_notices() -> None:
    """Every ten minutes: forget notices that are old."""
    forgetting.forget_old()


@shared_task(ignore_result=True)
def erase() -> None:
    """Every five seconds: go on with the erasures that were approved."""
    erasure.carry_out_due()


@shared_task(ignore_result=True)
def carry_out_proposals() -> None:
    """Every ten seconds: carry out the proposals that every team agreed to and whose delay is over."""
    workflow.carry_out_due()


@shared_task(ignore_result=True)
def build_exports() -> None:
    """Every two seconds: go on with an export of many sessions, if there is one, for a while."""
    builder.build_due()


@shared_task(ignore_result=True)
def prune() -> None:
    """Every day: delete the words whose retention term is over, and figures of more than a year ago."""
    for tenant in Tenant.objects.values_list("pk", flat=True):
        pruning.prune_due(tenant)
    levels.forget_old()


@shared_task(ignore_result=True)
def scrub() -> None:
    """Every two seconds: look a little further for sessions that somebody altered in the database."""
    for tenant in Tenant.objects.values_list("pk", flat=True):
        alterations.scrub(tenant)


@worker_ready.connect
def look_around(**_: Any) -> None:
    """A worker that starts looks for what its predecessors left, before the clock's first tick."""
    abandoned.too_many = _replace_me
    presence.free_the_dead()
    announcements.wake_worker()


def _replace_me(why: str) -> None:
    """Threads that do not end can only end with their process: it drains, and whoever keeps it starts another."""
    drain.begin(why)
    os.kill(os.getpid(), signal.SIGTERM)


@worker_shutting_down.connect
def begin_nothing(**_: Any) -> None:
    """Asked to stop: what runs may end, nothing begins."""
    drain.begin("asked to stop")


@worker_shutdown.connect
def leave_threads(**_: Any) -> None:
    """The last act of a worker. Python would wait for tools that do not end; their calls are settled by others."""
    kept.end_all()
    if abandoned.tools():
        os._exit(0)
