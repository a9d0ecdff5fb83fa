"""Who sees to what: by person their skills, what they have in hand, and how far they have come today; and which work
wants which skill.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.db.models import Count, Min, QuerySet
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.people.models import Team, User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission, roles_with
from sessions.core.session_lines import Person
from sessions.deputies.queries import may_open
from sessions.http.answers import PageOnly
from sessions.http.bodies import About
from sessions.models.sessions import AgentSession, ApprovalRequest, Skill, SkillWanted


class DeskLine(msgspec.Struct, frozen=True):
    """One person of the teams that the reader sees."""

    user: Annotated[str, About("the name they sign in with")]
    name: str
    actor: PageOnly[str]
    skills: list[str]
    taken: Annotated[int, About("sessions that they speak in")]
    sessions: Annotated[int, About("sessions that they are to see to")]
    requests: Annotated[int, About("requests that they are to see to")]
    claimed: Annotated[int, About("requests that they are on")]
    oldest: Annotated[datetime | None, About("since when the first of these requests waits")]
    decided: Annotated[int, About("requests that they have decided since midnight UTC")]

    @property
    def in_hand(self) -> int:
        """How many things these are."""
        return self.taken + self.sessions + self.requests + self.claimed


class Wanted(msgspec.Struct, frozen=True):
    """Which skills the work of one team wants."""

    team: Team
    rules: list[SkillWanted]


def desk(user: Person) -> list[DeskLine]:
    """Those who decide or take over in the reader's teams, by name. Eight queries, however many they are. Raises
    PermissionDenied.
    """
    teams = may_open(user)
    roles = {*roles_with(Permission.DECIDE), *roles_with(Permission.TAKE_OVER)}
    people = User.objects.filter(is_active=True, memberships__team__in=teams, memberships__role__in=roles).distinct()
    live = AgentSession.objects.filter(team__in=teams, ended_at=None)
    waits = ApprovalRequest.objects.filter(team__in=teams, state="pending")
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    done = ApprovalRequest.objects.filter(team__in=teams, ended_at__gte=midnight).exclude(decided_by="")
    taken, sessions = _count(live, "taken_by"), _count(live, "assigned_to")
    requests, claimed = _count(waits, "assigned_to"), _count(waits.filter(claimed_until__gt=Now()), "claimed_by")
    oldest = dict(waits.values("assigned_to").values_list("assigned_to", Min("asked_at")).order_by())
    decided, skills = _count(done, "decided_by"), _skills(people)
    return [
        DeskLine(
            user=each.username,
            name=each.display_name,
            actor=each.actor,
            skills=skills.get(each.pk, []),
            taken=taken[each.actor],
            sessions=sessions[each.actor],
            requests=requests[each.actor],
            claimed=claimed[each.actor],
            oldest=oldest.get(each.actor),
            decided=decided[each.actor],
        )
        for each in people.order_by("display_name", "pk")
    ]


def _count(rows: QuerySet[Any], column: str) -> Counter[str]:
    counted = rows.values(column).annotate(n=Count("pk")).order_by()
    return Counter({row[column]: row["n"] for row in counted})


def _skills(people: QuerySet[User]) -> dict[UUID, list[str]]:
    found: dict[UUID, list[str]] = {}
    for user, skill in Skill.objects.filter(user__in=people).order_by("skill").values_list("user_id", "skill"):
        found.setdefault(user, []).append(skill)
    return found


def wanted(user: Person) -> list[Wanted]:
    """Which skills the work wants, by team. Raises PermissionDenied."""
    teams = Team.objects.filter(pk__in=may_open(user)).order_by("name")
    rules = list(SkillWanted.objects.filter(team__in=teams).order_by("by", "value", "skill"))
    return [Wanted(team, [rule for rule in rules if rule.team_id == team.pk]) for team in teams]


def sets_skills_of(user: Person) -> frozenset[str]:
    """The names of those whose skills this person may set: of the teams that they set up."""
    teams = teams_with(user, Permission.CONFIGURE)
    return frozenset(User.objects.filter(memberships__team__in=teams).values_list("username", flat=True))
