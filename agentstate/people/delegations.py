"""Delegation of authority: a person lends another the right to decide, for named permissions, in one team, for a time.

What is lent is worth what the giver holds when it is used: it ends with its instant, when it is taken back, and when
the giver loses the permission or the account. Nobody can lend on what was lent to them. Both are entries of the staff
log.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.errors import Invalid, NotFound, Refused
from agentstate.people import reasons, trail
from agentstate.people.models import Delegation, Team, User
from agentstate.people.permissions import can, require, teams_with
from agentstate.people.roles import DELEGABLE, Permission

LONGEST = timedelta(days=92)
MAX_REASON = 500  # characters
MOST = 20  # that run at once for one receiver


class UnknownDelegation(NotFound):
    """There is no such delegation, or you may not see it."""

    code = "unknown_delegation"


class NotDelegable(Refused):
    """This cannot be delegated so."""

    code = "not_delegable"


@transaction.atomic
def give(
    giver: User, receiver: User, team: Team, *, until: datetime, reason: str, permissions: Iterable[str]
) -> Delegation:
    """Lend `receiver` what `giver` may themselves in `team`. Raises Invalid, PermissionDenied, NotDelegable."""
    wanted = _permissions(permissions)
    for permission in wanted:
        require(giver, permission, team)
    begins = now()
    if not begins < until <= begins + LONGEST:
        raise Invalid(f"want an instant to come, at most {LONGEST.days} days away", field="until")
    if not reason.strip() or len(reason) > MAX_REASON:
        raise Invalid(f"say why, in at most {MAX_REASON} characters", field="reason")
    if giver.pk == receiver.pk or not can(receiver, Permission.READ, team):
        raise NotDelegable("it is for a colleague who reads the team's sessions")
    if running().filter(receiver=receiver).count() >= MOST:
        raise NotDelegable(f"they have {MOST} already")
    made = Delegation.objects.create(
        tenant_id=giver.tenant_id,
        giver=giver,
        receiver=receiver,
        team=team,
        permissions=[each.value for each in wanted],
        sealed_reason=reasons.seal(giver.tenant_id, team.pk, reason.strip()),
        until=until,
    )
    facts = {"delegation": str(made.pk), "team": str(team.pk), "until": until.isoformat()}
    facts["sealed_reason"] = reasons.on_record(made.sealed_reason)
    trail.record("delegation.given", giver, receiver, **facts, permissions=" ".join(made.permissions))
    return made


def _permissions(wanted: Iterable[str]) -> list[Permission]:
    named = {str(each) for each in wanted}
    if not named or (wrong := sorted(named - {each.value for each in DELEGABLE})):
        raise Invalid(f"want some of {', '.join(DELEGABLE)}, got {wrong if named else 'none'}", field="permissions")
    return [each for each in DELEGABLE if each.value in named]


@transaction.atomic
def revoke(delegation: UUID, by: User) -> Delegation:
    """Take it back: its giver may, its receiver may give it back, and whoever configures the team. Twice is once.
    Raises UnknownDelegation.
    """
    found = known_to(by).filter(pk=delegation).first()
    if found is None:
        raise UnknownDelegation()
    if Delegation.objects.filter(pk=delegation, revoked_at=None).update(revoked_at=Now()):
        trail.record("delegation.revoked", by, found.receiver, delegation=str(found.pk), team=str(found.team_id))
    found.refresh_from_db(fields=["revoked_at"])
    return found


def running() -> QuerySet[Delegation]:
    """Those that have neither ended nor been taken back, by the database's clock."""
    return Delegation.objects.filter(until__gt=Now(), revoked_at=None)


def lent_to(user: User) -> list[Delegation]:
    """What is lent to `user` now, giver and team loaded; what each is worth hangs on its giver. One query."""
    return list(running().filter(receiver=user, giver__is_active=True).select_related("giver", "team").order_by("pk"))


def known_to(user: User) -> QuerySet[Delegation]:
    """Those that `user` gave or was given, and those of the teams they configure; newest first."""
    mine = Q(giver=user) | Q(receiver=user) | Q(team__in=teams_with(user, Permission.CONFIGURE))
    return Delegation.objects.filter(mine).select_related("giver", "receiver", "team").order_by("-created", "-pk")
