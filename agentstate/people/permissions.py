"""Who may do what, in which team: small permissions, bundled into roles, read fresh at each question.

A permission is checked in commands and queries (DESIGN 5.16), never only in a view. Nothing is remembered
between two questions, so a changed role or a disabled person counts with the next one. Nothing here writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from agentstate.errors import Refused
from agentstate.people.roles import GRANTABLE, ROLES, Permission, Role, names_from, roles_with

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.db.models import QuerySet

    from agentstate.people.models import AccessGrant, Membership, Team, User


class PermissionDenied(Refused):
    """You do not have the permission this needs."""

    code = "permission_denied"
    status = 403
    remedy = "Ask an admin of the team for a role that includes the permission named here."


def can(user: User | AnonymousUser, permission: Permission, team: Team | UUID) -> bool:
    """Whether `user` is active and holds `permission` in `team` now. One query, none for strangers."""
    if user.pk is None:
        return False
    team_id = team if isinstance(team, UUID) else team.pk
    return _granting(user.pk, permission).filter(team_id=team_id).exists()


def may_in(user: User | AnonymousUser, permission: Permission, team: OuterRef) -> Exists | Q:
    """Returns `can` as a condition of a query whose rows have a team. It costs no statement of its own."""
    if user.pk is None:
        return Q(pk=None)
    return Exists(_granting(user.pk, permission).filter(team_id=team))


def require(user: User | AnonymousUser, permission: Permission, team: Team | UUID) -> None:
    """Return if `can`, else raise PermissionDenied that names the permission."""
    if not can(user, permission, team):
        raise PermissionDenied(f"This needs the permission {permission.value}.", permission=permission.value)


def teams_with(user: User | AnonymousUser, permission: Permission) -> list[UUID]:
    """Ids of the teams in which `user` holds `permission` now, for queries to filter by. One query."""
    if user.pk is None:
        return []
    return sorted(_granting(user.pk, permission).values_list("team_id", flat=True).distinct())


def teams_required(user: User | AnonymousUser, permission: Permission) -> list[UUID]:
    """`teams_with`, where there is one. Raises PermissionDenied that names the permission."""
    if teams := teams_with(user, permission):
        return teams
    raise PermissionDenied(f"This needs the permission {permission.value}.", permission=permission.value)


def holds_any(user: User | AnonymousUser, *permissions: Permission) -> bool:
    """Whether a role of `user`, in whatever team, includes one of `permissions`. One query."""
    if user.pk is None:
        return False
    roles = [role.value for role, bundle in ROLES.items() if bundle & set(permissions)]
    return _memberships(user.pk).filter(role__in=roles).exists()


def names_in(user: User | AnonymousUser) -> dict[UUID, frozenset[str]]:
    """By team, the names by which rules know `user` there: "role:<role>", "user:<login>", and "team:<slug>" of every
    team that they are in. One query.
    """
    if user.pk is None:
        return {}
    return names_from(_memberships(user.pk).values_list("team_id", "team__slug", "role", "user__username"))


def narrow_grants(user: User | AnonymousUser) -> list[AccessGrant]:
    """The grants, running now, that open some sessions of a team only to `user`; what they open is in `kinds`. One
    query. Those that open a whole team are in `teams_with` and `can`.
    """
    if user.pk is None:
        return []
    auditor = _memberships(user.pk).filter(role=Role.AUDITOR, team=OuterRef("team"))
    return list(_running().filter(~_WHOLE, Exists(auditor), user=user.pk).order_by("pk"))


_WHOLE = Q(sessions=[], opened_from=None, opened_to=None)


def _running() -> QuerySet[AccessGrant]:
    from agentstate.people.models import AccessGrant

    return AccessGrant.objects.filter(starts__lte=Now(), until__gt=Now(), revoked_at=None)


def _granting(user_id: UUID, permission: Permission) -> QuerySet[Membership]:
    holding = Q(role__in=roles_with(permission))
    if permission in GRANTABLE:
        whole = _running().filter(_WHOLE, user=user_id, team=OuterRef("team"), kinds__contains=[permission.value])
        holding |= Q(Exists(whole), role=Role.AUDITOR)
    return _memberships(user_id).filter(holding)


def _memberships(user_id: UUID) -> QuerySet[Membership]:
    from agentstate.people.models import Membership

    return Membership.objects.filter(user_id=user_id, user__is_active=True)
