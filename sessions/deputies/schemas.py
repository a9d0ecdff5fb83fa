"""Shapes of the deputies of teams, and of what teams lack people for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from sessions.deputies import queries
from sessions.http.bodies import About, Body
from sessions.http.openapi import published


class NameDeputy(Body, kw_only=True):
    """Who becomes a deputy of which team."""

    user: Annotated[UUID, About("a person who reads the team's sessions and may decide in another team")]
    team: UUID


class Deputy(Struct, frozen=True):
    id: UUID
    user: UUID
    team: UUID


class TeamApprovers(Struct, frozen=True):
    team: UUID
    gaps: Annotated[
        Sequence[queries.GapLine], About("where rules ask for more people than the team has, highest tier first")
    ]
    deputies: Sequence[Deputy]


class TeamApproversList(Struct, frozen=True):
    teams: Sequence[TeamApprovers]


published(ApproverGap=queries.GapLine)
