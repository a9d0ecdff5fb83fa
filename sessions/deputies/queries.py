"""The approvers of a team: where its policies ask for more people than it has, and its deputies."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import msgspec

from agentstate.engine.decide.approvers import Gap, gaps
from agentstate.people import deputies
from agentstate.people.models import Deputy, Team, User
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.queries import display_names
from agentstate.people.roles import Permission
from sessions.agents import registry
from sessions.core import authority
from sessions.core.session_lines import Person
from sessions.descriptions import approvals
from sessions.http.bodies import About


def may_open(user: Person) -> list[UUID]:
    """The teams whose desk this person may look at: where they take over or set up. Raises PermissionDenied."""
    teams = {*teams_with(user, Permission.TAKE_OVER), *teams_with(user, Permission.CONFIGURE)}
    if not teams:
        raise PermissionDenied("This needs the permission take_over.", permission=Permission.TAKE_OVER.value)
    return sorted(teams)


class GapLine(msgspec.Struct, frozen=True):
    """Rules that ask for more people than the team has. `able`: the names of the people who may approve."""

    tier: int
    quorum: Annotated[int, About("people who must approve")]
    able: Annotated[list[str], About("by name, who of the team may approve")]
    rules: Annotated[list[str], About("the rules that ask for them")]
    sentence: Annotated[str, About("all of this in words")]


class TeamApprovers(msgspec.Struct, frozen=True):
    """One team. `candidates`: who could be named as a deputy, for the reader who sets the team up."""

    team: Team
    gaps: list[GapLine]
    deputies: list[Deputy]
    may_name: bool
    candidates: list[User]


def team_approvers(user: Person) -> list[TeamApprovers]:
    """The teams that the reader takes over in or sets up, by name. Raises PermissionDenied."""
    teams = list(Team.objects.filter(pk__in=may_open(user)).order_by("name"))
    configures = set(teams_with(user, Permission.CONFIGURE))
    named: dict[UUID, list[Deputy]] = {}
    for each in deputies.of_teams([team.pk for team in teams]):
        named.setdefault(each.team_id, []).append(each)
    return [
        TeamApprovers(
            team=team,
            gaps=gaps_of(team.pk),
            deputies=named.get(team.pk, []),
            may_name=team.pk in configures,
            candidates=list(deputies.candidates(team)) if team.pk in configures else [],
        )
        for team in teams
    ]


def gaps_of(team: UUID) -> list[GapLine]:
    """Where the policies of this installation's agents ask for more people than the team has."""
    of_agents = {registry.find(agent).policy for agent in registry.names()}
    rules = [rule for policy in sorted(of_agents) for rule in registry.policy_named(policy).rules]
    found = gaps(rules, authority.approvers(team))
    names = display_names({actor for gap in found for actor in gap.able})
    return [_line(gap, names) for gap in found]


def _line(gap: Gap, names: dict[str, str]) -> GapLine:
    able = sorted(names.get(actor, actor) for actor in gap.able)
    return GapLine(gap.tier, gap.quorum, able, list(gap.rules), approvals.gap(gap.tier, gap.quorum, able, gap.count))
