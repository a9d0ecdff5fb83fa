"""What of a session was disclosed, by whom and why, for those who may disclose."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from sessions.core import access
from sessions.core.entry_lines import may_read
from sessions.core.session_lines import Person
from sessions.disclosures import content
from sessions.disclosures.content import Standing, What
from sessions.http.bodies import About, Words
from sessions.models.sessions import Disclosure

MOST = 200  # lines
WHAT = [each.value for each in What]
STANDING = [each.value for each in Standing]


class DisclosureLine(msgspec.Struct, frozen=True):
    """One disclosure, without what it shows."""

    id: UUID
    what: Annotated[str, Words(WHAT)]
    first: int
    last: int
    pointer: str
    reason: Annotated[str, About("empty once the data subject was erased")]
    standing: Annotated[str, Words(STANDING)]
    made_by: str
    made_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    opened: Annotated[int, About("how often the link was opened")]
    opened_at: datetime | None


def disclosures(user: Person, session: UUID) -> list[DisclosureLine]:
    """The newest first. Raises UnknownSession, PermissionDenied (it needs `read` and `disclose`)."""
    team = may_read(user, session, "disclosure")
    if not access.may(user, Permission.DISCLOSE, session, team):
        needed = Permission.DISCLOSE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    return [line(row) for row in Disclosure.objects.filter(session=session).order_by("-made_at")[:MOST]]


def line(row: Disclosure) -> DisclosureLine:
    """One row, told."""
    return DisclosureLine(
        row.pk,
        row.what,
        row.first,
        row.last,
        row.pointer,
        content.reason_of(row),
        content.standing(row).value,
        row.made_by,
        row.made_at,
        row.expires_at,
        row.revoked_at,
        row.opened,
        row.opened_at,
    )
