"""Sending what is due: claim a message, send it, write down how it went.

At least once, under one id for ever: a worker that dies after the other side has taken a message leaves it due, and it
is sent again as the same message. One endpoint is sent one message at a time and mail goes out in few lines, so that
what is slow outside holds up itself alone.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import msgspec
from django.db import connection, transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce, Greatest, Now

from agentstate.people.models import User
from agentstate.people.permissions import can
from agentstate.people.roles import Permission
from audit import ledger
from audit.server_clock import now as database_now
from sessions.automation.notifications import (
    endpoints,
    mail,
    plan,
    preferences,
    retries,
    subjects,
    texts,
    undeliverable,
    webhook,
)
from sessions.automation.notifications.definition import EMAIL, TEST
from sessions.automation.notifications.outcome import Outcome
from sessions.core import crash_points
from sessions.core.due_work import Queue
from sessions.models.notifications import Notice, NoticeAttempt, NoticeDelivery, NoticeEndpoint

log = logging.getLogger(__name__)
LOCK = 0x6E6F7469  # of claiming: it takes a millisecond, and two must not part one bundle between them
MAIL_AT_ONCE = 2  # messages, over all workers
SENDERS = 2  # threads of one worker that send
MOST_IN_MESSAGE = 500  # notices that are looked at for one message; the others are counted
OFF_AFTER = timedelta(days=5)  # an endpoint that failed for so long is switched off
BREATHER = timedelta(seconds=30)  # what else is due there waits so long after a failure that is not its own
State = NoticeDelivery.State
_senders = threading.BoundedSemaphore(SENDERS)


class Message(msgspec.Struct, frozen=True):
    """What leaves as one: its id, and the deliveries in it, of one way and to one target."""

    id: UUID
    rows: Sequence[NoticeDelivery]

    @property
    def first(self) -> NoticeDelivery:
        """The delivery that stands for all."""
        return self.rows[0]


class _Passed(Exception):
    """It is not wanted any more; the word says why."""


def send_due(seconds: float = 15.0) -> int:
    """Send what is due for so long, unless enough of this process are at it. Gives how many messages were tried."""
    if not _senders.acquire(blocking=False):
        return 0
    try:
        done, until = 0, time.monotonic() + seconds
        while time.monotonic() < until and (message := _claimed()) is not None:
            _one(message)
            done += 1
        return done
    finally:
        _senders.release()


QUEUE = Queue(
    "agent_sessions_noticedelivery",
    "due_at, id",
    lease=60.0,  # longer than one try may take
    pending="state = 'due'",
    admits="NOT (way = 'email' AND (SELECT count(DISTINCT message) FROM agent_sessions_noticedelivery"
    "  WHERE lease_until > now() AND way = 'email') >= %(mails)s)"
    " AND NOT (way = 'webhook' AND EXISTS (SELECT 1 FROM agent_sessions_noticedelivery o"
    "  WHERE o.lease_until > now() AND o.endpoint = r.endpoint))",
    changes="message = coalesce(r.message, r.id),",
)
_TAKE_BUNDLE = """UPDATE agent_sessions_noticedelivery d SET message = first.message, attempts = first.attempts,
   lease_until = first.lease_until
  FROM agent_sessions_noticedelivery first
  WHERE first.id = %(id)s AND d.id <> first.id AND d.state = 'due' AND d.bundle <> '' AND d.bundle = first.bundle
   AND CASE WHEN first.attempts = 1 THEN d.message IS NULL ELSE d.message = first.message END"""


@transaction.atomic
def _claimed() -> Message | None:
    """The message that is due longest, under a lease; what waits in the same bundle comes along."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    for claim in QUEUE.claim(mails=MAIL_AT_ONCE):
        ledger.run(_TAKE_BUNDLE, {"id": claim.key})
        first = NoticeDelivery.objects.get(pk=claim.key)
        rows = NoticeDelivery.objects.filter(message=first.message, lease_until=claim.until).order_by("-at", "pk")
        return Message(first.message or first.pk, list(rows))
    return None


def _one(message: Message) -> None:
    began, at = time.monotonic(), database_now()
    try:
        outcome = _sent(message)
    except _Passed as passed:
        _end(message, State.PASSED, str(passed))
        return
    except Exception as error:  # ours, not theirs: it must not hold up the others, nor be lost
        log.warning("message %s: %s", message.id, type(error).__name__)
        outcome = Outcome(why="error", answer=type(error).__name__)
    crash_points.point("after_sent", str(message.id))
    with transaction.atomic():
        NoticeAttempt.objects.create(
            message=message.id,
            at=at,
            took=int((time.monotonic() - began) * 1000),
            status=outcome.status,
            why=outcome.why,
            answer=outcome.answer,
        )
        _arrived(message) if outcome.well else _failed(message, outcome)


def _sent(message: Message) -> Outcome:
    wanted = _still_wanted(message)
    notices = list(Notice.objects.filter(pk__in={row.notice for row in wanted[:MOST_IN_MESSAGE]}).order_by("-at", "pk"))
    told = texts.told(notices)
    listed, more = [told[each.pk] for each in notices], max(0, len(wanted) - MOST_IN_MESSAGE)
    if not listed:
        raise _Passed("forgotten")
    if message.first.way == EMAIL:
        person = User.objects.get(pk=message.first.person or subjects.NOBODY)
        address = preferences.of([person.pk]).get(person.pk, preferences.NONE).email
        if not address:
            return Outcome(why="no_address", final=True)
        return mail.send(mail.built(message.id, address, listed, more))
    endpoint = NoticeEndpoint.objects.get(pk=message.first.endpoint or subjects.NOBODY)
    if not endpoint.on and notices[0].kind != TEST:
        return Outcome(why="endpoint_off", final=True)
    return webhook.send(endpoint, message.id, webhook.body_of(listed, more), database_now())


def _still_wanted(message: Message) -> list[NoticeDelivery]:
    """Without what somebody has acted on while it waited for others. Raises _Passed where nothing is left, or the
    person may not be told any more.
    """
    first = message.first
    if first.person is not None:
        person = User.objects.filter(pk=first.person, is_active=True).first()
        if person is None or not can(person, Permission.SEE, first.team):
            raise _Passed("not_entitled")
    if not first.bundle or len(message.rows) > MOST_IN_MESSAGE:
        return list(message.rows)
    notices = {each.pk: each for each in Notice.objects.filter(pk__in={row.notice for row in message.rows})}
    left = [row for row in message.rows if row.notice in notices and not subjects.acted(notices[row.notice])]
    if not left:
        raise _Passed("acted")
    return left


def _mine(message: Message) -> dict[str, object]:
    """Returns what its deliveries are while this worker's lease is the newest: a worker that slept through it writes
    nothing.
    """
    return {"message": message.id, "lease_until": message.first.lease_until, "state": State.DUE}


def _end(message: Message, state: str, why: str = "") -> bool:
    found = NoticeDelivery.objects.filter(**_mine(message))
    return bool(found.update(state=state, why=why, ended_at=Now(), lease_until=None))


def _arrived(message: Message) -> None:
    if not _end(message, State.SENT):
        return
    first = message.first
    if first.endpoint is not None:
        NoticeEndpoint.objects.filter(pk=first.endpoint).update(failing_since=None, well_at=Now())
    undeliverable.over(first)


def _failed(message: Message, outcome: Outcome) -> None:
    first, pauses = message.first, retries.EMAIL if message.first.way == EMAIL else retries.WEBHOOK
    if first.endpoint is not None:
        _endpoint_failed(first.endpoint, outcome)
    pause = None
    if not outcome.final and not outcome.gone:
        pause = retries.pause(pauses, first.attempts, random.random(), outcome.asked)
    if pause is not None:
        again = database_now() + timedelta(seconds=pause)
        NoticeDelivery.objects.filter(**_mine(message)).update(lease_until=None, due_at=again, why=outcome.why)
        _rest(message, outcome)
    elif _end(message, State.FAILED, outcome.why):
        for row in message.rows:
            _given_up(row, outcome.why)


def _rest(message: Message, outcome: Outcome) -> None:
    """What else is due there waits for a moment: a server that is down is not asked once for each message."""
    first = message.first
    same = NoticeDelivery.objects.filter(state=State.DUE, way=first.way, lease_until=None)
    same = same.exclude(pk__in=[row.pk for row in message.rows])  # whose own pause is set
    if first.endpoint is not None:
        same = same.filter(endpoint=first.endpoint)
    elif not outcome.down:
        return
    same.update(due_at=Greatest(F("due_at"), Value(database_now() + BREATHER)))


def _given_up(row: NoticeDelivery, why: str) -> None:
    """The next way that is left, or an alert of the team."""
    if row.others:
        made = plan.again_by(row.others[0], row, database_now())
        if made is not None:
            return
    undeliverable.delivery(row, why)


def _endpoint_failed(pk: UUID, outcome: Outcome) -> None:
    """Since when it fails is kept; one that wants nothing more, or has failed for days, is switched off."""
    NoticeEndpoint.objects.filter(pk=pk).update(failing_since=Coalesce(F("failing_since"), Now()))
    row = NoticeEndpoint.objects.get(pk=pk)
    long = row.failing_since is not None and database_now() - row.failing_since > OFF_AFTER
    if row.on and (outcome.gone or long):
        endpoints.switch(pk, False, ledger.SYSTEM, "gone" if outcome.gone else "failing")
        undeliverable.raise_(row.team_id, f"endpoint:{pk}", "gone" if outcome.gone else "failing")
