"""On what authority a person decides in a team at this instant: their own, and what others have lent them."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from agentstate.engine.decide import Authority
from agentstate.people import delegations
from agentstate.people.models import User
from agentstate.people.permissions import DELEGABLE, names_in, roles_with

Person = User | AnonymousUser


def own(user: Person, team: UUID) -> Authority:
    """What `user` may decide themselves. One query: roles are among the names, and no grant gives these."""
    names = names_in(user).get(team, frozenset())
    held = [each for each in DELEGABLE if any(f"role:{role}" in names for role in roles_with(each))]
    return Authority(frozenset(each.value for each in held), names)


def lent(user: Person, team: UUID) -> tuple[Authority, ...]:
    """What others have lent to `user`: never more than the giver may themselves now."""
    if not isinstance(user, User):
        return ()
    return tuple(
        _worth(each.giver, each.permissions, team) for each in delegations.lent_to(user) if each.team_id == team
    )


def _worth(giver: User, permissions: Iterable[str], team: UUID) -> Authority:
    held = own(giver, team)
    return Authority(held.may & frozenset(permissions), held.names, giver.actor)


def standing(actors: Iterable[str], team: UUID) -> dict[str, tuple[Authority, ...]]:
    """What each of these people may decide now: their own first, then what is lent to them."""
    ids = {actor.removeprefix("user:"): actor for actor in actors if actor.startswith("user:")}
    people = User.objects.filter(pk__in=list(ids), is_active=True)
    return {user.actor: (own(user, team), *lent(user, team)) for user in people}
