"""Deputies: people of other teams who may decide a team's requests that too few of its own people can approve.

A deputy reads the team's sessions and holds a right to decide in another team; both are checked at every use. An admin
of the team names and removes deputies, but never the admin's own account. Both are entries of the staff log.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from agentstate.errors import Invalid, NotFound, Refused
from agentstate.people import trail
from agentstate.people.commands import require_may_configure
from agentstate.people.models import Deputy, Membership, Team, User
from agentstate.people.permissions import can
from agentstate.people.roles import DELEGABLE, Permission, Role, roles_with

MAX_DEPUTIES = 20  # of one team


class UnknownDeputy(NotFound):
    """There is no such deputy, or you may not see it."""

    code = "unknown_deputy"


class NotDeputy(Refused):
    """This person cannot be a deputy of this team."""

    code = "not_deputy"
    remedy = "Choose a person who reads this team's sessions and may decide in another team."


@transaction.atomic
def name(user: UUID, team: UUID, by: User | None) -> Deputy:
    """Makes a person a deputy of a team; one who is already stays one. Raises Invalid, PermissionDenied, OwnAccount,
    NotDeputy.
    """
    person, of = User.objects.filter(pk=user).first(), Team.objects.filter(pk=team).first()
    if person is None or of is None:
        raise Invalid("there is no such person or team", field="user" if person is None else "team")
    require_may_configure(by, person, of)
    if known := Deputy.objects.filter(user=user, team=team).first():
        return known
    if not candidates(of).filter(pk=user).exists():
        raise NotDeputy()
    if Deputy.objects.filter(team=team).count() >= MAX_DEPUTIES:
        raise NotDeputy(f"The team has {MAX_DEPUTIES} deputies already.")
    made = Deputy.objects.create(user=person, team=of, tenant_id=person.tenant_id)
    trail.record("deputy.named", by, person, team=str(team))
    return made


@transaction.atomic
def remove(deputy: UUID, by: User | None) -> Deputy:
    """Ends the rights of a deputy and returns the deputy. Raises UnknownDeputy, PermissionDenied, OwnAccount."""
    found = Deputy.objects.filter(pk=deputy).select_related("user", "team").first()
    if found is None or (by is not None and not can(by, Permission.SEE, found.team)):
        raise UnknownDeputy()
    require_may_configure(by, found.user, found.team)
    removed, _ = Deputy.objects.filter(pk=deputy).delete()
    if removed:
        trail.record("deputy.removed", by, found.user, team=str(found.team_id))
    return found


def of_teams(teams: Collection[UUID]) -> QuerySet[Deputy]:
    """Returns the deputies of these teams, by name."""
    found = Deputy.objects.filter(team__in=teams, user__is_active=True).select_related("user")
    return found.order_by("user__display_name", "pk")


def teams_of(user: User) -> frozenset[UUID]:
    """Returns the teams of which `user` is a deputy. One query."""
    return frozenset(Deputy.objects.filter(user=user, user__is_active=True).values_list("team_id", flat=True))


def candidates(team: Team) -> QuerySet[User]:
    """Returns the people who could be named as deputies of a team, by name: they read its sessions, decide nothing in
    it, and may decide in another team.
    """
    theirs = Membership.objects.filter(user=OuterRef("pk"))
    deciding = theirs.filter(role__in={role for each in DELEGABLE for role in roles_with(each)})
    return User.objects.filter(
        Exists(theirs.filter(team=team, role__in=roles_with(Permission.READ))),
        Exists(deciding),
        ~Exists(deciding.filter(team=team)),
        ~Exists(theirs.filter(role=Role.PROGRAM)),
        ~Exists(Deputy.objects.filter(team=team, user=OuterRef("pk"))),
        is_active=True,
    ).order_by("display_name", "pk")
