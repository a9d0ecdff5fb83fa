"""What can be done with notifications. Rules, endpoints and a team's quiet hours need `configure` in the team; what is
told to a person is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from agentstate.errors import Invalid, NotFound
from agentstate.ids import new_id
from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from audit import staff
from audit.server_clock import now as database_now
from sessions.automation.notifications import definition, endpoints, preferences, repository
from sessions.automation.notifications.endpoints import NoSuchEndpoint
from sessions.automation.notifications.preferences import Wishes
from sessions.automation.notifications.quiet_hours import Quiet
from sessions.automation.rules.commands import configured, team_configured
from sessions.core.person import Person, author_of
from sessions.models.notifications import Notice, NoticeDelivery, NoticeEndpoint

MOST_READ = 500  # notices that are marked in one go by name
MOST_AGAIN = 1_000  # deliveries that are sent again in one go


class UnknownDelivery(NotFound):
    """There is no such delivery, or you may not see it."""

    code = "unknown_delivery"


def take_shipped(user: Person, team: str = "") -> list[str]:
    """Give the team the shipped rules that it lacks. Gives their names. Raises PermissionDenied, Invalid."""
    chosen = team_configured(user, team)
    return repository.take_shipped(chosen.tenant_id, chosen.pk, author_of(user).actor)


def test_endpoint(user: Person, endpoint: UUID) -> NoticeDelivery:
    """Send it a test, which says nothing but that; also while it is switched off. Raises NoSuchEndpoint,
    PermissionDenied.
    """
    row = configured(endpoints.STORE, user, endpoint)
    at = database_now()
    with transaction.atomic():
        notice = Notice.objects.create(
            id=new_id(),
            tenant=row.tenant_id,
            team=row.team_id,
            kind=definition.TEST,
            severity="info",
            state=Notice.State.ENDED,
            why="told",
            at=at,
            ended_at=at,
        )
        made = NoticeDelivery.objects.create(
            id=new_id(), notice=notice.pk, team=row.team_id, way=definition.WEBHOOK, endpoint=row.pk, severity="info",
            at=at, due_at=at,
        )  # fmt: skip
        _record(user, row, "notice_endpoint.tested")
    return made


def send_again(user: Person, delivery: UUID) -> NoticeDelivery:
    """Send one delivery of an endpoint again, as the same message. Raises UnknownDelivery, PermissionDenied."""
    row = NoticeDelivery.objects.filter(pk=delivery, endpoint__isnull=False).first()
    if row is None or row.endpoint is None:
        raise UnknownDelivery()
    try:
        endpoint = configured(endpoints.STORE, user, row.endpoint)
    except NoSuchEndpoint:
        raise UnknownDelivery() from None
    with transaction.atomic():
        same = {"message": row.message} if row.message else {"pk": row.pk}
        _due_again(NoticeDelivery.objects.filter(**same))
        _record(user, endpoint, "notice_endpoint.sent_again", deliveries=1)
    row.refresh_from_db()
    return row


def send_failed_again(user: Person, endpoint: UUID, since: datetime | None = None) -> int:
    """Send all again that failed (since then), oldest first, at most MOST_AGAIN. Gives how many messages. Raises
    NoSuchEndpoint, PermissionDenied.
    """
    row = configured(endpoints.STORE, user, endpoint)
    failed = NoticeDelivery.objects.filter(endpoint=row.pk, state=NoticeDelivery.State.FAILED)
    if since is not None:
        failed = failed.filter(at__gte=since)
    with transaction.atomic():
        chosen = list(failed.order_by("at").values_list("pk", flat=True)[:MOST_AGAIN])
        _due_again(NoticeDelivery.objects.filter(pk__in=chosen))
        _record(user, row, "notice_endpoint.sent_again", deliveries=len(chosen))
    return len(chosen)


def _due_again(rows: Any) -> None:
    """Due now, as if never tried; what was tried stays on record, and the message keeps its id."""
    again = {"state": NoticeDelivery.State.DUE, "why": "", "attempts": 0, "ended_at": None, "due_at": Now()}
    rows.exclude(state=NoticeDelivery.State.DUE, lease_until__gt=Now()).update(**again, lease_until=None)


def mark_read(user: User, notices: Sequence[UUID] | None = None) -> int:
    """Mark these of one's own notices as read, or all. Gives how many were not."""
    if notices is not None and len(notices) > MOST_READ:
        raise Invalid(f"at most {MOST_READ}", field="notices")
    mine = NoticeDelivery.objects.filter(person=user.pk, way=definition.IN_APP, read_at__isnull=True)
    if notices is not None:
        mine = mine.filter(pk__in=notices)
    return mine.update(read_at=Now())


def keep_wishes(user: Person, **wanted: Any) -> Wishes:
    """Set what one wants oneself. Raises BadAddress, BadQuiet, Invalid, PermissionDenied."""
    return preferences.keep(known(user), **wanted)


def known(user: Person) -> User:
    """Somebody who is signed in. Raises PermissionDenied."""
    if not isinstance(user, User):
        raise PermissionDenied("Sign in first.", permission=Permission.SEE.value)
    return user


def keep_team_quiet(user: Person, quiet: Any, *, team: str = "") -> Quiet | None:
    """Set a team's quiet hours, or with nothing none. Raises BadQuiet, PermissionDenied, Invalid."""
    chosen = team_configured(user, team)
    return preferences.keep_of_team(chosen.tenant_id, chosen.pk, author_of(user).actor, quiet)


def _record(user: Person, row: NoticeEndpoint, kind: str, **facts: int) -> None:
    known_facts = {"endpoint": str(row.pk), "name": row.name, "team": str(row.team_id), **facts}
    staff.record(row.tenant_id, database_now(), kind, author_of(user).actor, "", known_facts)
