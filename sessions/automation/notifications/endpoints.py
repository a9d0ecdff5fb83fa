"""Endpoints: where a team's webhooks go. Each change, and each switching, is an entry of the staff log."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from agentstate.errors import Invalid, NotFound, Refused
from sessions.automation.rules.store import RuleStore
from sessions.models.notifications import NoticeEndpoint
from sessions.outside import secrets

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


class Endpoints(RuleStore[NoticeEndpoint]):
    """Endpoints. A change switches one on: its author has repaired it."""

    rows, label, event, most = NoticeEndpoint, "endpoint", "notice_endpoint", 50
    unknown, too_many = NoSuchEndpoint, TooManyEndpoints

    def checked(self, team: UUID, data: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
        """`data` holds `url`, and `secret`, the name of one. Raises BadEndpoint."""
        _must_be_an_address(data["url"])
        if not secrets.NAME.fullmatch(data["secret"]):
            raise BadEndpoint("want the name of a secret", field="secret")
        return data, {}

    def fill(self, row: NoticeEndpoint, definition: Any, at: datetime) -> None:
        """Where it goes; it has not failed yet."""
        row.url, row.secret, row.on, row.off_why, row.failing_since = (
            definition["url"],
            definition["secret"],
            True,
            "",
            None,
        )

    def switched(self, row: NoticeEndpoint) -> None:
        """An endpoint that is switched on has not failed yet."""
        if row.on:
            row.failing_since = None


STORE = Endpoints()
switch = STORE.switch


def keep(tenant: UUID, team: UUID, by: str, name: str, url: str, secret: str, *, seen: int = 0) -> NoticeEndpoint:
    """Makes or changes the endpoint of that name. Raises BadEndpoint, ChangedMeanwhile, TooManyEndpoints, Invalid."""
    return STORE.keep(tenant, team, by, name, {"url": url, "secret": secret}, seen=seen)


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
