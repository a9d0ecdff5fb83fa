"""The figures above the wall. No counter rows: indexed queries (DESIGN 5.10)."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from django.db.models import Count, Min, Q
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.engine.lifecycle import RequestStatus, SessionStatus
from sessions.queries.request_lines import decidable, visible_requests
from sessions.queries.session_lines import Person, visible_sessions

SOON = timedelta(minutes=3)


class WallCounts(msgspec.Struct, frozen=True):
    """The figures above the wall."""

    active: int
    failed: int
    decidable: int
    highest: int  # of them, tier 3
    soon: int  # of them, with less than SOON left
    oldest: datetime | None  # since when the one asked first waits
    expired: int  # requests nobody decided in time, since midnight UTC


def wall_counts(user: Person) -> WallCounts:
    """Three indexed queries; what "needs a decision" counts is what `decidable` lists."""
    live = visible_sessions(user).filter(ended_at__isnull=True, fork_of__isnull=True)
    live = live.exclude(status=SessionStatus.EXPIRED)
    failed = Count("pk", filter=Q(status=SessionStatus.FAILED))
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    return WallCounts(
        **live.aggregate(active=Count("pk"), failed=failed),
        **decidable(user)
        .order_by()
        .aggregate(
            decidable=Count("pk"),
            highest=Count("pk", filter=Q(tier__gte=3)),
            soon=Count("pk", filter=Q(expires_at__lt=Now() + SOON)),
            oldest=Min("asked_at"),
        ),
        expired=visible_requests(user).filter(state=RequestStatus.EXPIRED, ended_at__gte=midnight).count(),
    )
