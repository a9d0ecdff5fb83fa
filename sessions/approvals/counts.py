"""The figures above the live board. No counter rows: indexed queries (DESIGN 5.10)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db.models import Count, Min, Q, QuerySet
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.engine.lifecycle import RequestStatus, SessionStatus
from agentstate.people.roles import Permission
from sessions.approvals.queries import decidable, waiting
from sessions.core import access
from sessions.core.session_lines import Person, visible_sessions, waits_for_person
from sessions.models.sessions import ApprovalRequest

SOON = timedelta(minutes=3)
AGAIN = timedelta(minutes=15)  # a request for the same tool within this time after an expired one asks again
UNDECIDED = (RequestStatus.EXPIRED, RequestStatus.WITHDRAWN, RequestStatus.SUPERSEDED)
Asked = tuple[UUID, str, str, datetime, datetime | None]  # session, tool, state, asked at, ended at


class WallCounts(msgspec.Struct, frozen=True):
    """The figures above the live board. Of the requests that wait they count all of the teams, also for readers who
    decide none; `decidable` are the reader's own, the number of the badge.
    """

    active: int
    failed: int
    waiting: int
    decidable: int
    highest: int  # of those that wait, tier 3
    soon: int  # of them, with less than SOON left
    oldest: datetime | None  # start of the longest wait of a request, or of a customer who asks for a person
    for_person: bool  # whether that wait is a customer's
    expired: int  # requests that expired since midnight UTC
    withdrawn: int  # requests that were withdrawn before anybody decided, since midnight UTC


def wall_counts(user: Person) -> WallCounts:
    """Six indexed queries, of what the reader may see; no words are read."""
    sessions = visible_sessions(user)
    live = sessions.filter(ended_at__isnull=True, fork_of__isnull=True).exclude(status=SessionStatus.EXPIRED)
    failed = Count("pk", filter=Q(status=SessionStatus.FAILED))
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    requests = ApprovalRequest.objects.filter(access.within(user, Permission.SEE, "session__"))
    ended = requests.filter(ended_at__gte=midnight)
    asked = first_asked(_asked(requests))
    wanted = sessions.filter(waits_for_person()).aggregate(oldest=Min("wanted_at"))["oldest"]
    oldest = min((each for each in (asked, wanted) if each is not None), default=None)
    return WallCounts(
        **live.aggregate(active=Count("pk"), failed=failed),
        **waiting(requests).aggregate(
            waiting=Count("pk"),
            highest=Count("pk", filter=Q(tier__gte=3)),
            soon=Count("pk", filter=Q(expires_at__lt=Now() + SOON)),
        ),
        decidable=decidable(user).count(),
        oldest=oldest,
        for_person=oldest is not None and oldest == wanted,
        **ended.aggregate(
            expired=Count("pk", filter=Q(state=RequestStatus.EXPIRED)),
            withdrawn=Count("pk", filter=Q(state=RequestStatus.WITHDRAWN)),
        ),
    )


def _asked(requests: QuerySet[ApprovalRequest]) -> Iterable[Asked]:
    """The requests of the sessions in which one waits."""
    rows = requests.filter(session__in=waiting(requests).values("session"))
    return rows.order_by("asked_at", "pk").values_list("session_id", "tool", "state", "asked_at", "ended_at")


def first_asked(rows: Iterable[Asked]) -> datetime | None:
    """Returns since when the longest wait runs. A request that was asked again after it expired waits since it was
    first asked. `rows` are in the order in which they were asked.
    """
    began: dict[tuple[UUID, str], tuple[datetime, datetime | None]] = {}
    waits: list[datetime] = []
    for session, tool, state, asked, ended in rows:
        since, before = began.pop((session, tool), (asked, asked))
        since = since if before is None or asked - before <= AGAIN else asked
        if state == RequestStatus.PENDING:
            waits.append(since)
        if state == RequestStatus.PENDING or state in UNDECIDED:
            began[session, tool] = (since, ended)
    return min(waits, default=None)
