"""Whom the names of a rule mean: members of the team who may see its sessions, each with their wishes."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import msgspec

from agentstate.people.models import Membership, User
from agentstate.people.roles import Permission, roles_with
from sessions.automation.notifications import preferences as wishes
from sessions.automation.notifications import subjects
from sessions.automation.notifications.preferences import Wishes
from sessions.automation.notifications.quiet_hours import Quiet
from sessions.models.notifications import Notice

MOST = 200  # people that one step tells


class Member(msgspec.Struct, frozen=True):
    """Somebody of a team: the names that rules know them by, and what they want."""

    user: User
    names: frozenset[str]
    wishes: Wishes


class Team(msgspec.Struct, frozen=True):
    """A team's people, and the hours in which it is not disturbed."""

    members: dict[UUID, Member]
    quiet: Quiet | None


def of_team(team: UUID) -> Team:
    """Its active members who may see its sessions. Four queries."""
    rows = Membership.objects.filter(team=team, user__is_active=True).select_related("user")
    users = {row.user_id: row.user for row in rows if row.role in roles_with(Permission.SEE)}
    roles: dict[UUID, set[str]] = {pk: {f"user:{user.username}"} for pk, user in users.items()}
    for row in rows:
        if row.user_id in users:
            roles[row.user_id].add(f"role:{row.role}")
    for user, slug in Membership.objects.filter(user__in=users).values_list("user", "team__slug"):
        roles[user].add(f"team:{slug}")
    wanted = wishes.of(users)
    members = {pk: Member(user, frozenset(roles[pk]), wanted.get(pk, wishes.NONE)) for pk, user in users.items()}
    return Team(members, wishes.of_team(team))


def meant(notice: Notice, to: Sequence[str], team: Team) -> list[Member]:
    """Those of the team whom `to` means, at most MOST, in the order in which they joined; not who did it themselves."""
    plain = set(to)
    actors = {
        actor
        for name, found in (("owner", subjects.owners), ("asker", subjects.asker), ("approvers", subjects.approvers))
        if name in plain
        for actor in found(notice)
    }
    if "alert" in plain:
        named, owned = subjects.alerted(notice)
        plain |= named
        actors |= owned
    found = {pk for pk, member in team.members.items() if member.names & plain or member.user.actor in actors}
    if plain & {"reviewers", "deputies"}:
        own, as_deputies = subjects.deciding(notice, [member.user for member in team.members.values()])
        found |= own if "reviewers" in plain else set()
        found |= as_deputies if "deputies" in plain else set()
    told = [team.members[pk] for pk in sorted(found) if team.members[pk].user.actor != notice.actor]
    return told[:MOST]
