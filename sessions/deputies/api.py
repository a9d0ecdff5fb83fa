"""Deputies of teams: see where a team has too few approvers, name a deputy, remove one."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from agentstate.people import deputies
from agentstate.people.models import Deputy, User
from sessions.deputies import queries
from sessions.deputies import schemas as forms
from sessions.http.operations import READING, delete, get, post
from sessions.http.parameters import Id


@get()
def list_deputies(user: User) -> forms.TeamApproversList:
    """By team that you take over in or set up: where rules ask for more people than may approve, and the team's
    deputies.
    """
    teams = queries.team_approvers(user)
    return forms.TeamApproversList(
        [forms.TeamApprovers(each.team.pk, each.gaps, [_line(one) for one in each.deputies]) for each in teams]
    )


@post()
def name_deputy(user: User, body: forms.NameDeputy) -> forms.Deputy:
    """Name a person who may decide the team's requests that too few of its people can approve. Needs `configure` in the
    team; nobody names themselves.
    """
    return _line(deputies.name(body.user, body.team, user))


@delete(codes=READING)
def remove_deputy(user: User, deputy: Annotated[UUID, Id(deputies.UnknownDeputy)]) -> forms.Deputy:
    """End what a deputy may decide in the team. Needs `configure` in it."""
    return _line(deputies.remove(deputy, user))


def _line(deputy: Deputy) -> forms.Deputy:
    return forms.Deputy(deputy.pk, deputy.user_id, deputy.team_id)
