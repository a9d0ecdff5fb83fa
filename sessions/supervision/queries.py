"""Whose turn it is: who asks for a person, what somebody has in hand, and what they should see to next, with why.

The rules are few and told with each choice: what is assigned to you comes first, then what is for a team of yours; what
is for others is left to them; what wants a skill goes to who has it,
and to everybody where nobody in the team does; then the higher tier, then the nearer deadline. A customer who asks for
a person counts as tier 2, due PATIENCE after they asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import msgspec
from django.db.models import Q
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.people.models import Membership, User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission, roles_with
from sessions.approvals.assignment import TEAM
from sessions.approvals.queries import decidable
from sessions.core.session_lines import PAGE, Person, SessionLine, lines_of, visible_sessions, waits_for_person
from sessions.http.answers import PageOnly
from sessions.http.bodies import About
from sessions.models.sessions import AgentSession, ApprovalRequest, Skill, SkillWanted

PATIENCE = timedelta(minutes=2)  # that a customer who asks for a person is supposed to have
PERSON_TIER = 2


class Work(msgspec.Struct, frozen=True):
    """Something to see to: a request, or (`request` None) a session whose customer asks for a person."""

    session: UUID
    request: UUID | None
    tier: int
    due: datetime
    assigned_to: PageOnly[str]
    why: Annotated[tuple[str, ...], About("why this one, in words")]


class InHand(msgspec.Struct, frozen=True):
    """What a person has in hand, oldest first: sessions they have taken over, sessions and requests that they are to
    see to, requests that they are on.
    """

    taken: tuple[UUID, ...]
    sessions: tuple[UUID, ...]
    requests: tuple[tuple[UUID, UUID], ...]  # session and request
    claimed: tuple[tuple[UUID, UUID], ...]

    @property
    def total(self) -> int:
        """How many things these are."""
        return len(self.taken) + len(self.sessions) + len(self.requests) + len(self.claimed)


def wanted_sessions(user: Person) -> list[SessionLine]:
    """The sessions whose customer waits for a person, or that a colleague has left to whoever takes them: who has
    waited longest first.
    """
    rows = visible_sessions(user).filter(waits_for_person()).order_by("wanted_at")[:PAGE]
    return lines_of(user, rows, "wall")


def wanted_count(user: Person) -> int:
    """How many these are."""
    return visible_sessions(user).filter(waits_for_person()).count()


def in_hand(actor: str, teams: list[UUID]) -> InHand:
    """What somebody has in hand in these teams."""
    live = AgentSession.objects.filter(ended_at=None, team__in=teams)
    waits = ApprovalRequest.objects.filter(state="pending", team__in=teams).order_by("asked_at")
    pairs = ("session_id", "pk")
    return InHand(
        taken=tuple(live.filter(taken_by=actor).order_by("taken_at").values_list("pk", flat=True)),
        sessions=tuple(live.filter(assigned_to=actor).order_by("opened_at").values_list("pk", flat=True)),
        requests=tuple(waits.filter(assigned_to=actor).values_list(*pairs)),
        claimed=tuple(waits.filter(claimed_by=actor, claimed_until__gt=Now()).values_list(*pairs)),
    )


def skills_of(user: User) -> list[str]:
    """What a person can do, by name."""
    return sorted(Skill.objects.filter(user=user).values_list("skill", flat=True))


def ranked(user: User) -> list[Work]:
    """What this person could see to now, the first first."""
    mine = frozenset(skills_of(user))
    return sorted(_candidates(user, mine), key=lambda work: (_whose(work, user), -work.tier, work.due))


def _whose(work: Work, user: User) -> int:
    """Theirs first, then their team's, then nobody's."""
    return 0 if work.assigned_to == user.actor else 1 if work.assigned_to else 2


def _candidates(user: User, mine: frozenset[str]) -> Iterator[Work]:
    at, wanted = now(), _Wanted()
    theirs = ("", user.actor, *_teams_of(user))
    free = Q(claimed_by__in=("", user.actor)) | Q(claimed_until__lte=Now())
    rows = decidable(user).filter(free, assigned_to__in=theirs).select_related("session")
    for row in rows[:PAGE]:
        by = {"tool": row.tool, "agent": row.session.agent, "channel": row.session.channel}
        reasons = wanted.reasons(row.team_id, by, mine)
        if reasons is None and row.assigned_to != user.actor:
            continue
        told = (*_mine(row.assigned_to), *(reasons or ()), f"tier {row.tier}", _due(row.expires_at, at))
        yield Work(row.session_id, row.pk, row.tier, row.expires_at, row.assigned_to, told)
    teams = teams_with(user, Permission.TAKE_OVER)
    sessions = AgentSession.objects.filter(waits_for_person(), team__in=teams, assigned_to__in=theirs)
    for session in sessions.order_by("wanted_at")[:PAGE]:
        reasons = wanted.reasons(session.team_id, {"agent": session.agent, "channel": session.channel}, mine)
        if reasons is None and session.assigned_to != user.actor:
            continue
        assert session.wanted_at is not None
        waited = f"the customer asks for a person, for {_span(at - session.wanted_at)}"
        told = (*_mine(session.assigned_to), *(reasons or ()), waited)
        yield Work(session.pk, None, PERSON_TIER, session.wanted_at + PATIENCE, session.assigned_to, told)


def _teams_of(user: User) -> list[str]:
    return [f"{TEAM}{slug}" for slug in user.memberships.values_list("team__slug", flat=True).distinct()]


def _mine(assigned_to: str) -> tuple[str, ...]:
    if assigned_to.startswith(TEAM):
        return ("it is assigned to a team of yours",)
    return ("it is assigned to you",) if assigned_to else ()


def _due(until: datetime, at: datetime) -> str:
    return f"due in {_span(until - at)}" if until > at else "overdue"


def _span(span: timedelta) -> str:
    minutes, seconds = divmod(max(0, int(span.total_seconds())), 60)
    return f"{minutes}:{seconds:02}"


class _Wanted:
    """Which skills work wants, and whether anybody in the team has them; each team is asked once."""

    def __init__(self) -> None:
        self._rules: dict[UUID, list[tuple[str, str, str]]] = {}
        self._there: dict[UUID, frozenset[str]] = {}

    def reasons(self, team: UUID, by: dict[str, str], mine: frozenset[str]) -> tuple[str, ...] | None:
        """Why somebody with the skills `mine` is right for it; None when others are."""
        if team not in self._rules:
            self._rules[team] = list(SkillWanted.objects.filter(team=team).values_list("by", "value", "skill"))
            self._there[team] = _skills_in(team) if self._rules[team] else frozenset()
        skills = sorted({skill for kind, value, skill in self._rules[team] if by.get(kind) == value})
        missing = [skill for skill in skills if skill not in mine]
        if any(skill in self._there[team] for skill in missing):
            return None
        has = tuple(f"it wants {skill}, which you have" for skill in skills if skill in mine)
        return (*has, *(f"it wants {skill}, which nobody in the team has" for skill in missing))


def _skills_in(team: UUID) -> frozenset[str]:
    deciders = Membership.objects.filter(team=team, role__in=roles_with(Permission.DECIDE), user__is_active=True)
    return frozenset(Skill.objects.filter(user__in=deciders.values("user")).values_list("skill", flat=True))
