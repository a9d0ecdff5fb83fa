"""From what happened to deliveries: a notice is judged, told to the people of its first step, and to those of the next
until somebody has seen it or acted.

Each notice is a row that is due; whoever takes it writes what follows and the row in one transaction. So a worker that
dies leaves it as it was, and one that slept through its lease writes nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.utils.crypto import salted_hmac

from agentstate.people.models import User
from audit import keys
from audit.server_clock import now as database_now
from sessions.automation.notifications import matching, plan, recipients, repository, subjects, undeliverable
from sessions.automation.notifications.definition import Definition
from sessions.automation.notifications.recipients import Team
from sessions.automation.rules.matching import Passed
from sessions.core import announcements, crash_points
from sessions.core.due_work import Claim, Queue
from sessions.models.notifications import Notice, NoticeDelivery, NoticeRule

log = logging.getLogger(__name__)
QUEUE = Queue("agent_sessions_notice", "next_at, id", due_at="next_at", lease=30.0, attempts=5)
BATCH = 50
MOST = 2_000  # notices in one go
_teller = threading.Lock()


def tell_due(most: int = MOST) -> int:
    """Judge and tell what is due, oldest first, up to `most`, unless a thread of this process is at it: a storm keeps
    one of them busy and not all. Gives how many.
    """
    if not _teller.acquire(blocking=False):
        return 0
    try:
        done, known = 0, _Known()
        for batch in QUEUE.batches(most, BATCH):
            _batch(batch, known)
            done += len(batch)
        return done
    finally:
        _teller.release()


class _Known:
    """What one go has read already: definitions, and the people of teams."""

    def __init__(self) -> None:
        self._definitions: dict[tuple[UUID, int], Definition] = {}
        self._teams: dict[UUID, Team] = {}
        self.forget_rules()

    def forget_rules(self) -> None:
        """Whether a rule is on is looked at anew."""
        self._rules: dict[UUID, NoticeRule | None] = {}

    def rule(self, rule: UUID) -> NoticeRule | None:
        if rule not in self._rules:
            self._rules[rule] = NoticeRule.objects.filter(pk=rule).first()
        return self._rules[rule]

    def definition(self, rule: UUID, version: int) -> Definition:
        if (rule, version) not in self._definitions:
            self._definitions[rule, version] = repository.version_of(rule, version)
        return self._definitions[rule, version]

    def team(self, team: UUID) -> Team:
        if team not in self._teams:
            self._teams[team] = recipients.of_team(team)
        return self._teams[team]


def _batch(batch: Sequence[Claim], known: _Known) -> None:
    """All in one transaction, which reaches the disk once; where one of them cannot be told, each in its own."""
    known.forget_rules()
    try:
        with transaction.atomic():
            for claim in batch:
                _told(claim, known)
            crash_points.point("before_told")
    except Exception:
        for claim in batch:
            QUEUE.handle(claim, lambda claim: _alone(claim, known), _give_up)


def _told(claim: Claim, known: _Known) -> None:
    found = Notice.objects.select_for_update().filter(pk=claim.key, lease_until=claim.until, next_at__isnull=False)
    notice = found.first()
    if notice is not None:
        _went_on(notice, known)


def _alone(claim: Claim, known: _Known) -> None:
    try:
        with transaction.atomic():
            _told(claim, known)
    except keys.Erased:
        _ended(claim, "erased")


def _give_up(claim: Claim, _: Exception) -> None:
    if _ended(claim, "failed"):
        undeliverable.notice(Notice.objects.get(pk=claim.key), "failed")


def _ended(claim: Claim, why: str) -> bool:
    return QUEUE.finish(
        claim, "state = %(state)s, why = %(why)s, ended_at = now(), next_at = NULL", state=Notice.State.ENDED, why=why
    )


def _went_on(notice: Notice, known: _Known) -> None:
    """Judge it, or take its next step; the row is written as it stands then."""
    rule = known.rule(notice.rule or subjects.NOBODY)
    notice.lease_until, notice.attempts = None, 0
    if rule is None or not rule.on:
        _end(notice, "switched_off")
        return
    definition = known.definition(rule.pk, notice.version)
    if notice.state == Notice.State.NEW and not _is_told(notice, definition):
        return
    settled = _settled(notice, definition)
    if settled:
        _end(notice, settled)
        return
    now = database_now()
    while notice.step < len(definition.steps) and _due(notice, definition) <= now:
        _step(notice, definition, known.team(notice.team), now)
        notice.step += 1
    if notice.step == len(definition.steps):
        _end(notice, "told")
    else:
        notice.state, notice.next_at = Notice.State.OPEN, _due(notice, definition)
        notice.save()


def _due(notice: Notice, definition: Definition) -> datetime:
    return notice.at + timedelta(seconds=definition.steps[notice.step].after)


def _end(notice: Notice, why: str) -> None:
    notice.state, notice.why, notice.ended_at, notice.next_at = Notice.State.ENDED, why, database_now(), None
    notice.save()


def _is_told(notice: Notice, definition: Definition) -> bool:
    """Whether the rule tells of it, and of nothing that is the same as another lately; otherwise it has ended."""
    values = subjects.values_of(notice)
    if notice.about is not None:
        notice.thing, notice.thing_id = subjects.named_by(values["event"]["data"])
        notice.actor = values["event"]["actor"]
    found = matching.judged(definition, values, f"{notice.kind}:{notice.thing_id or notice.about}")
    if isinstance(found, Passed):
        _end(notice, found.why)
        return False
    notice.severity = definition.severity
    key = _token(found)
    if _is_the_same(notice, key, definition.window):
        _end(notice, "merged")
        return False
    notice.key = key
    return True


def _token(key: str) -> str:
    """A key as it is kept: a rule may make it of a customer's words."""
    return salted_hmac("agentstate.notices.key", key, algorithm="sha256").hexdigest()


def _is_the_same(notice: Notice, key: str, window: int) -> bool:
    """Whether another was told under this key within the window: it is counted there. Two that are judged at once wait
    for each other.
    """
    if not window:
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [f"{notice.rule}/{key}"])
    earliest = notice.at - timedelta(seconds=window)
    same = Notice.objects.filter(rule=notice.rule, key=key, at__gt=earliest).exclude(pk=notice.pk)
    first = same.order_by("-at").values_list("pk", flat=True).first()
    if first is None:
        return False
    Notice.objects.filter(pk=first).update(count=F("count") + 1)
    return True


def _settled(notice: Notice, definition: Definition) -> str:
    """Why it need go no further, in a word."""
    if definition.until == "told":
        return ""
    if subjects.acted(notice):
        return "acted"
    seen = NoticeDelivery.objects.filter(notice=notice.pk, read_at__isnull=False)
    return "seen" if definition.until == "seen" and seen.exists() else ""


def _step(notice: Notice, definition: Definition, team: Team, now: datetime) -> None:
    """Tell the people and endpoints of its next step; that nobody was reached by any step is an alert."""
    step = definition.steps[notice.step]
    meant = recipients.meant(notice, step.to, team)
    made = plan.to_people(notice, definition, meant, team, now)
    made += plan.to_endpoints(notice, definition, now)
    _ring([each.person for each in made if each.way == "in_app" and each.person is not None], team)
    last = notice.step + 1 == len(definition.steps)
    if last and not made and not NoticeDelivery.objects.filter(notice=notice.pk).exists():
        undeliverable.notice(notice, "nobody")


def _ring(persons: Sequence[UUID], team: Team) -> None:
    """After the commit, the open pages of these people look again. What is lost here their next beat makes up for."""
    users: list[User] = [team.members[person].user for person in persons]
    groups = sorted({user.channel_group for user in users})

    def ring() -> None:
        for group in groups:
            announcements.tell(group, {"type": "notices.changed"})

    transaction.on_commit(ring)
