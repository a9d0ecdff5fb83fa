"""Grants: what an auditor may look at, for how long, given and taken back by whoever configures the team.

Both are entries of the staff log. That one has ended by itself needs none: its end is in the entry that gave it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.errors import Invalid, NotFound
from agentstate.people import live, reasons, trail
from agentstate.people.commands import require_may_configure
from agentstate.people.errors import NoAuditor
from agentstate.people.models import AccessGrant, Membership, Team, User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import GRANTABLE, Permission, Role

LONGEST = timedelta(days=366)
MOST_SESSIONS = 500
MAX_REASON = 500  # characters


class UnknownGrant(NotFound):
    """There is no such grant, or you may not see it."""

    code = "unknown_grant"


@transaction.atomic
def give(
    user: User,
    team: Team,
    *,
    until: datetime,
    reason: str,
    by: User | None,
    kinds: Iterable[str] = (Permission.READ,),
    sessions: Collection[UUID] = (),
    opened_from: datetime | None = None,
    opened_to: datetime | None = None,
    starts: datetime | None = None,
) -> AccessGrant:
    """Open the sessions of `team` to an auditor until an instant; `see` goes with every kind.

    Raises PermissionDenied, OwnAccount, NoAuditor, Invalid.
    """
    require_may_configure(by, user, team)
    begins = starts or now()
    if not begins < until <= begins + LONGEST:
        raise Invalid(f"want an end after the beginning, at most {LONGEST.days} days later", field="until")
    if opened_from and opened_to and opened_from >= opened_to:
        raise Invalid("want an end after the beginning", field="opened_to")
    if len(sessions) > MOST_SESSIONS:
        raise Invalid(f"got {len(sessions)}, at most {MOST_SESSIONS}", field="sessions")
    if not reason.strip() or len(reason) > MAX_REASON:
        raise Invalid(f"say why, in at most {MAX_REASON} characters", field="reason")
    if not Membership.objects.filter(user=user, team=team, role=Role.AUDITOR).exists():
        raise NoAuditor()
    grant = AccessGrant.objects.create(
        tenant_id=user.tenant_id,
        user=user,
        team=team,
        kinds=_kinds(kinds),
        sessions=sorted(set(sessions)),
        opened_from=opened_from,
        opened_to=opened_to,
        starts=begins,
        until=until,
        given_by=by.actor if by is not None else "system",
        sealed_reason=reasons.seal(user.tenant_id, team.pk, reason.strip()),
    )
    trail.record("grant.given", by, user, **_facts(grant))
    return grant


def _kinds(wanted: Iterable[str]) -> list[str]:
    named = {str(kind) for kind in wanted} | {Permission.SEE.value}
    if wrong := sorted(named - {each.value for each in GRANTABLE}):
        raise Invalid(f"got {wrong[0][:30]!r}, want some of {', '.join(GRANTABLE)}", field="kinds")
    return [each.value for each in GRANTABLE if each.value in named]


def _facts(grant: AccessGrant) -> dict[str, str | int | bool]:
    facts = {
        "grant": str(grant.pk),
        "team": str(grant.team_id),
        "kinds": " ".join(grant.kinds),
        "sessions": " ".join(map(str, grant.sessions)),
        "starts": grant.starts.isoformat(),
        "until": grant.until.isoformat(),
        "sealed_reason": reasons.on_record(grant.sealed_reason),
    }
    ends = {name: at.isoformat() for name in ("opened_from", "opened_to") if (at := getattr(grant, name))}
    return {**facts, **ends}


@transaction.atomic
def revoke(grant: UUID, by: User | None) -> AccessGrant:
    """Take a grant back: the auditor's sockets close. Twice is once. Raises UnknownGrant, PermissionDenied."""
    found = AccessGrant.objects.filter(pk=grant).select_related("user", "team").first()
    if found is None or (by is not None and found.team_id not in teams_with(by, Permission.CONFIGURE)):
        raise UnknownGrant()
    if AccessGrant.objects.filter(pk=grant, revoked_at=None).update(revoked_at=Now()):
        trail.record("grant.revoked", by, found.user, grant=str(found.pk), team=str(found.team_id))
        live.close_sockets_on_commit(found.user_id, found.user.channel_group)
    found.refresh_from_db(fields=["revoked_at"])
    return found


def given(user: User) -> QuerySet[AccessGrant]:
    """The grants that `user` may know of: their own, and those of the teams they configure or audit; newest first."""
    teams = {*teams_with(user, Permission.CONFIGURE), *teams_with(user, Permission.AUDIT)}
    rows = AccessGrant.objects.select_related("user", "team")
    return (rows.filter(team__in=teams) | rows.filter(user=user)).order_by("-created", "-pk")


def ended_for(user: User) -> bool:
    """Whether `user` had a grant that has run out or was taken back: then what is refused to them matters."""
    return AccessGrant.objects.filter(user=user).exclude(until__gt=Now(), revoked_at=None).exists()
