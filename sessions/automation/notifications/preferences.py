"""What people and teams want of notifications: ways switched off, quiet hours, where mail reaches them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.db import transaction

from agentstate.errors import Invalid
from agentstate.people.models import User
from audit import staff
from audit.server_clock import now as database_now
from sessions.automation.notifications import quiet_hours as quiet
from sessions.automation.notifications.definition import EMAIL, IN_APP
from sessions.automation.notifications.quiet_hours import Quiet
from sessions.http.bodies import Words
from sessions.models.notifications import NoticeWishes, TeamQuiet

MAX_ADDRESS = 254  # RFC 5321 section 4.5.3.1
# The plain form of an address (RFC 5321 section 4.1.2, without quoted parts): nothing in it can end a header.
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}")


class BadAddress(Invalid):
    """This is no e-mail address to which anything can be sent."""

    code = "bad_email"


class Wishes(msgspec.Struct, frozen=True):
    """Of one person."""

    email: str = ""
    off: tuple[Annotated[str, Words((IN_APP, EMAIL))], ...] = ()
    quiet: Quiet | None = None
    sound: bool = False
    desktop: bool = False


NONE = Wishes()


def of(people: Iterable[UUID]) -> dict[UUID, Wishes]:
    """The wishes of those who have said any."""
    return {row.user_id: _read(row) for row in NoticeWishes.objects.filter(user__in=list(people))}


def _read(row: NoticeWishes) -> Wishes:
    return Wishes(row.email, tuple(row.off), quiet.load(row.quiet), row.sound, row.desktop)


def keep(
    user: User, *, email: str, off: Sequence[str], quiet_hours: Any = None, sound: bool = False, desktop: bool = False
) -> Wishes:
    """Set them all. That the address changed is an entry of the staff log, without the address. Raises BadAddress,
    BadQuiet, Invalid.
    """
    if email and (len(email) > MAX_ADDRESS or not _ADDRESS.fullmatch(email)):
        raise BadAddress(field="email")
    if not set(off) <= {IN_APP, EMAIL}:
        raise Invalid(f"want some of {IN_APP}, {EMAIL}", field="off")
    hours = quiet.load(quiet_hours)
    with transaction.atomic():
        row, _ = NoticeWishes.objects.select_for_update().get_or_create(user=user)
        moved = row.email != email
        row.email, row.off, row.sound, row.desktop = email, sorted(set(off)), sound, desktop
        row.quiet = msgspec.to_builtins(hours) if hours is not None else {}
        row.save()
        if moved:
            staff.record(user.tenant_id, database_now(), "person.address_changed", user.actor, user.actor, {})
    return _read(row)


def of_team(team: UUID) -> Quiet | None:
    """The quiet hours of a whole team."""
    row = TeamQuiet.objects.filter(team=team).first()
    return quiet.load(row.quiet) if row is not None else None


def keep_of_team(tenant: UUID, team: UUID, by: str, quiet_hours: Any) -> Quiet | None:
    """Set a team's quiet hours, or with nothing none; an entry of the staff log. Raises BadQuiet."""
    hours = quiet.load(quiet_hours)
    at = database_now()
    with transaction.atomic():
        TeamQuiet.objects.update_or_create(
            team_id=team,
            defaults={
                "quiet": msgspec.to_builtins(hours) if hours is not None else {},
                "changed_by": by,
                "changed_at": at,
            },
        )
        facts = {"team": str(team), **({"start": hours.start, "end": hours.end, "zone": hours.zone} if hours else {})}
        staff.record(tenant, at, "team.quiet_changed", by, "", facts)
    return hours
