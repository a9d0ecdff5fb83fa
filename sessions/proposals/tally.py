"""Which teams have agreed to a proposal: pure."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import msgspec


class Answer(msgspec.Struct, frozen=True):
    """What was answered for a team."""

    team: UUID
    agrees: bool


class Standing(msgspec.Struct, frozen=True):
    """The teams by what they answered last."""

    agreed: frozenset[UUID] = frozenset()
    rejected: frozenset[UUID] = frozenset()
    outstanding: frozenset[UUID] = frozenset()


def standing(teams: Iterable[UUID], answers: Iterable[Answer]) -> Standing:
    """Returns how the teams stand after these answers, oldest first. An answer for another team counts for nothing."""
    newest = {answer.team: answer.agrees for answer in answers}
    concerned = frozenset(teams)
    return Standing(
        agreed=frozenset(team for team in concerned if newest.get(team) is True),
        rejected=frozenset(team for team in concerned if newest.get(team) is False),
        outstanding=frozenset(team for team in concerned if team not in newest),
    )
