"""Endpoints: where a team's webhooks go. Each change, and each switching, is an entry of the staff log."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction

from agentstate.errors import Invalid, NotFound, Refused
from agentstate.ids import new_id
from audit import staff
from audit.server_clock import now as database_now
from sessions.library.versions import must_be_named, must_be_seen
from sessions.models.notifications import NoticeEndpoint
from sessions.outside import secrets

MAX_ENDPOINTS = 50  # of one team
MAX_URL = 500  # characters


class NoSuchEndpoint(NotFound):
    """There is no such endpoint, or you may not see it."""

    code = "no_such_endpoint"


class BadEndpoint(Invalid):
    """Nothing can be sent to this address."""

    code = "bad_endpoint"


class TooManyEndpoints(Refused):
    """The team has as many endpoints as it may have."""

    code = "too_many_endpoints"


def keep(tenant: UUID, team: UUID, by: str, name: str, url: str, secret: str, *, seen: int = 0) -> NoticeEndpoint:
    """The endpoint of that name, made or changed, and on: whoever changes it has seen to it. `seen` is the version that
    its author saw. Raises BadEndpoint, ChangedMeanwhile, TooManyEndpoints, Invalid.
    """
    must_be_named(name)
    _must_be_an_address(url)
    if not secrets.NAME.fullmatch(secret):
        raise BadEndpoint("want the name of a secret", field="secret")
    with transaction.atomic():
        row = NoticeEndpoint.objects.select_for_update().filter(team_id=team, name=name).first()
        must_be_seen(row, seen)
        if row is None:
            if NoticeEndpoint.objects.filter(team_id=team).count() >= MAX_ENDPOINTS:
                raise TooManyEndpoints(f"{MAX_ENDPOINTS} are allowed")
            row = NoticeEndpoint(id=new_id(), tenant_id=tenant, team_id=team, name=name, version=0)
        row.url, row.secret, row.on, row.off_why, row.failing_since = url, secret, True, "", None
        row.version += 1
        row.changed_by, row.changed_at = by, database_now()
        row.save()
        _record(row, "notice_endpoint.changed", by, version=row.version)
    return row


def _must_be_an_address(url: str) -> None:
    if len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise BadEndpoint(f"want an address of at most {MAX_URL} ASCII characters", field="url")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadEndpoint("want https://host/path", field="url") from None
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
        raise BadEndpoint("want https://host/path (or http://)", field="url")
    if parts.username or parts.password or parts.fragment:
        raise BadEndpoint("no user, no password and no fragment", field="url")


def switch(endpoint: UUID, on: bool, by: str, why: str = "") -> bool:
    """Switch it on or off. Whether that changed anything: it is recorded only then. Raises NoSuchEndpoint."""
    with transaction.atomic():
        row = NoticeEndpoint.objects.select_for_update().filter(pk=endpoint).first()
        if row is None:
            raise NoSuchEndpoint()
        if row.on == on:
            return False
        row.on, row.off_why = on, "" if on else why
        row.failing_since = None if on else row.failing_since
        row.changed_by, row.changed_at = by, database_now()
        row.save()
        _record(row, "notice_endpoint.switched_on" if on else "notice_endpoint.switched_off", by, why=why)
    return True


def _record(row: NoticeEndpoint, kind: str, by: str, **facts: str | int) -> None:
    known = {"endpoint": str(row.pk), "name": row.name, "team": str(row.team_id), **facts}
    staff.record(row.tenant_id, database_now(), kind, by, "", known)
