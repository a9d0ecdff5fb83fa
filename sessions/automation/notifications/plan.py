"""The deliveries of one step: to whom, by which way, when, and with what else in one message.

Three things make a delivery wait, and what waits for the same instant leaves as one message: the rule's digest, the
quiet hours of person and team, and the bound on what one person or endpoint is sent within an hour. So a storm ends in
few messages, and nothing of it is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid5

from django.conf import settings

from audit import ledger
from sessions.automation.notifications import quiet_hours
from sessions.automation.notifications.definition import IN_APP, WEBHOOK, Definition
from sessions.automation.notifications.recipients import Member, Team
from sessions.events.notices import NOTICES
from sessions.models.notifications import Notice, NoticeDelivery, NoticeEndpoint

IN_APP_AN_HOUR = 100  # rows that one person finds; what is over it is counted on one more
TO_ENDPOINT_A_MINUTE = 120  # messages of their own; what is over it leaves as one
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
Made = list[NoticeDelivery]


def to_people(notice: Notice, definition: Definition, meant: Sequence[Member], team: Team, now: datetime) -> Made:
    """What the step at which the notice is makes for these people."""
    step = definition.steps[notice.step]
    made: Made = []
    for member in meant:
        ways = [way for way in dict.fromkeys(step.by) if _reaches(way, member, definition)]
        first, others = (ways[:1], ways[1:]) if step.how == "first" else (ways, [])
        made += [by(way, others, notice, definition, member, team, now) for way in first]
    return made


def _reaches(way: str, member: Member, definition: Definition) -> bool:
    if way.startswith(WEBHOOK) or (way in member.wishes.off and not definition.required):
        return False
    return way == IN_APP or bool(member.wishes.email)


def by(
    way: str,
    others: Sequence[str],
    notice: Notice,
    definition: Definition,
    member: Member,
    team: Team,
    now: datetime,
) -> NoticeDelivery:
    """One person's delivery by one way."""
    hours = [each for each in (team.quiet, member.wishes.quiet) if each is not None]
    quiet_until = None if definition.through_quiet else quiet_hours.until(now, hours)
    row = _row(notice, way, now, person=member.user.pk, others=list(others), silent=quiet_until is not None)
    if way == IN_APP:
        return _shown(row, now)
    if quiet_until is not None:
        return _later(row, f"quiet:{member.user.pk}:{notice.team}", quiet_until)
    return _paced(row, definition, f"{member.user.pk}:{notice.team}", now, settings.MAILS_PER_HOUR, HOUR)


def to_endpoints(notice: Notice, definition: Definition, now: datetime) -> Made:
    """What the step makes for endpoints."""
    step = definition.steps[notice.step]
    names = [way.partition(":")[2] for way in dict.fromkeys(step.by) if way.startswith(f"{WEBHOOK}:")]
    found = {each.name: each for each in NoticeEndpoint.objects.filter(team=notice.team, name__in=names, on=True)}
    rows = [found[name] for name in names if name in found]
    first, rest = (rows[:1], rows[1:]) if step.how == "first" else (rows, [])
    others = [f"{WEBHOOK}:{each.name}" for each in rest]
    return [to_endpoint(notice, definition, each, others, now) for each in first]


def to_endpoint(
    notice: Notice, definition: Definition, endpoint: NoticeEndpoint, others: Sequence[str], now: datetime
) -> NoticeDelivery:
    """One endpoint's delivery."""
    row = _row(notice, WEBHOOK, now, endpoint=endpoint.pk, others=list(others))
    return _paced(row, definition, f"{endpoint.pk}", now, TO_ENDPOINT_A_MINUTE, MINUTE)


def _row(notice: Notice, way: str, now: datetime, **fields: object) -> NoticeDelivery:
    """Its id follows from what it is: however often a step is taken, each is told once."""
    target = fields.get("person") or fields.get("endpoint")
    pk = uuid5(NOTICES, f"{notice.pk}/{notice.step}/{way}/{target}")
    return NoticeDelivery(
        id=pk, notice=notice.pk, team=notice.team, way=way, severity=notice.severity, at=now, due_at=now, **fields
    )


def _shown(row: NoticeDelivery, now: datetime) -> NoticeDelivery:
    """In the app it is there at once; beyond what anybody reads in an hour it is counted on one row."""
    row.state, row.ended_at = NoticeDelivery.State.SENT, now
    if _lately(row, HOUR) < IN_APP_AN_HOUR:
        row.save(force_insert=True)
        return row
    hour = _next(now, HOUR)
    pk = uuid5(NOTICES, f"more/{row.person}/{hour.isoformat()}")
    ledger.run(
        "INSERT INTO agent_sessions_noticedelivery (id, notice, team, way, person, others, severity, silent, state,"
        "  why, bundle, count, at, due_at, ended_at, attempts) VALUES (%(id)s, %(notice)s, %(team)s, %(way)s,"
        "  %(person)s, '{}', %(severity)s, %(silent)s, 'sent', 'more', %(bundle)s, 1, %(now)s, %(now)s, %(now)s, 0)"
        " ON CONFLICT (id) DO UPDATE SET count = agent_sessions_noticedelivery.count + 1, read_at = NULL RETURNING 1",
        {
            "id": pk, "notice": row.notice, "team": row.team, "way": row.way, "person": row.person,
            "severity": row.severity, "silent": row.silent, "bundle": f"more:{row.person}", "now": now,
        },
    )  # fmt: skip
    row.pk = pk
    return row


def _paced(
    row: NoticeDelivery, definition: Definition, target: str, now: datetime, most: int, span: timedelta
) -> NoticeDelivery:
    """At once, unless the rule collects or this person or endpoint has had as much as they may."""
    if definition.digest:
        return _later(row, f"digest:{row.way}:{target}", _next(now, timedelta(seconds=definition.digest)))
    if _lately(row, span) >= (2 * most if definition.severity == "critical" else most):
        return _later(row, f"more:{row.way}:{target}", _next(now, span))
    row.save(force_insert=True)
    return row


def _lately(row: NoticeDelivery, span: timedelta) -> int:
    """How many messages of their own were made for the same target within the span."""
    same = NoticeDelivery.objects.filter(way=row.way, person=row.person, endpoint=row.endpoint, bundle="")
    return same.filter(at__gt=row.at - span).count()


def _later(row: NoticeDelivery, bundle: str, at: datetime) -> NoticeDelivery:
    row.bundle, row.due_at = f"{bundle}:{at.isoformat(timespec='seconds')}", at
    row.save(force_insert=True)
    return row


def _next(now: datetime, span: timedelta) -> datetime:
    """The next whole multiple of the span since 1970: what falls between two of them waits for the same instant."""
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return start + ((now - start) // span + 1) * span


def again_by(way: str, failed: NoticeDelivery, now: datetime) -> NoticeDelivery | None:
    """The delivery that takes a failed one's place, by the next way that is left; at once, for it is late already. None
    when that leads nowhere.
    """
    kind, _, name = way.partition(":")
    row = NoticeDelivery(
        id=uuid5(NOTICES, f"{failed.pk}/{way}"), notice=failed.notice, team=failed.team, way=kind,
        others=failed.others[1:], severity=failed.severity, at=now, due_at=now, person=failed.person,
    )  # fmt: skip
    if kind == WEBHOOK:
        row.person = None
        row.endpoint = NoticeEndpoint.objects.filter(team=failed.team, name=name).values_list("pk", flat=True).first()
        if row.endpoint is None:
            return None
    if kind == IN_APP:
        row.state, row.ended_at = NoticeDelivery.State.SENT, now
    row.save(force_insert=True)
    return row
