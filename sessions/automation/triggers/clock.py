"""Schedules: times that have come by the database's clock are taken in and the next is written down, in one."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction

from agentstate.engine.instants import stamp
from audit.server_clock import now as database_now
from sessions.automation.triggers import intake, schedule
from sessions.automation.triggers.intake import Happened
from sessions.automation.triggers.repository import version_of
from sessions.models.triggers import Trigger

log = logging.getLogger(__name__)
MOST = 100  # schedules in one look


def take_in() -> int:
    """Let the times that have come wait for their triggers. Gives how many. Two that look at once share the work."""
    taken = 0
    with transaction.atomic():
        now = database_now()
        due = Trigger.objects.select_for_update(skip_locked=True).filter(on=True, next_at__lte=now)
        for trigger in due.order_by("next_at")[:MOST]:
            taken += _one(trigger, now)
    return taken


def _one(trigger: Trigger, now: datetime) -> int:
    wanted = version_of(trigger.pk, trigger.version).on.schedule
    assert wanted is not None
    assert trigger.next_at is not None
    found = schedule.due(wanted, trigger.next_at, now, trigger.since)
    trigger.next_at = found.next_at
    trigger.save(update_fields=["next_at"])
    if found.missed:
        log.info("trigger %s: %d times passed while nobody was there", trigger.name, found.missed)
    times = [stamp(at) for at in found.times]
    return intake.take_in_what_fits(
        trigger, [Happened(f"time:{at}", {"at": at, "missed": found.missed}) for at in times]
    )
