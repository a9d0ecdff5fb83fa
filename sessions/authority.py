"""On what authority a person decides in a team at this instant: their own, and what others have lent them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q

from agentstate.engine.decide import Authority
from agentstate.people import delegations
from agentstate.people.models import User
from agentstate.people.permissions import A_PROGRAM, DELEGABLE, names_from, names_in, roles_with
from audit import ledger

Person = User | AnonymousUser


def own(user: Person, team: UUID) -> Authority:
    """What `user` may decide themselves. One query: roles are among the names, and no grant gives these."""
    return _of(names_in(user).get(team, frozenset()))


def _of(names: frozenset[str]) -> Authority:
    """What somebody with these names may decide: a program nothing, whatever roles it has beside."""
    if A_PROGRAM in names:
        return Authority(frozenset(), names)
    held = [each for each in DELEGABLE if any(f"role:{role}" in names for role in roles_with(each))]
    return Authority(frozenset(each.value for each in held), names)


def lent(user: Person, team: UUID) -> tuple[Authority, ...]:
    """What others have lent to `user`: never more than the giver may themselves now, and nothing to a program."""
    if not isinstance(user, User):
        return ()
    loans = [each for each in delegations.lent_to(user) if each.team_id == team]
    if loans and _is_program(names_in(user)):
        return ()
    return tuple(_worth(own(each.giver, team), each.permissions, each.giver.actor) for each in loans)


def sharing(team: UUID) -> dict[str, frozenset[str]]:
    """Returns, by actor of a running delegation in the team, the actors with whom they share a right. One query."""
    found: dict[str, set[str]] = {}
    for delegation in delegations.running().filter(team=team).select_related("giver", "receiver"):
        found.setdefault(delegation.giver.actor, set()).add(delegation.receiver.actor)
        found.setdefault(delegation.receiver.actor, set()).add(delegation.giver.actor)
    return {actor: frozenset(others) for actor, others in found.items()}


def _is_program(names: Mapping[UUID, frozenset[str]]) -> bool:
    return any(A_PROGRAM in each for each in names.values())


def _worth(held: Authority, permissions: Iterable[str], giver: str) -> Authority:
    return Authority(held.may & frozenset(permissions), held.names, giver)


# A line for each person and for each delegation to them, with all memberships of whose authority it is; their own line
# first. As `own` and `lent` read it, and a test holds the two to each other.
_STANDING = """WITH who AS (SELECT id FROM people_user WHERE id = ANY(%(ids)s::uuid[]) AND is_active),
 line AS (SELECT id AS receiver, NULL::uuid AS loan, id AS giver, NULL::varchar[] AS permissions FROM who
  UNION ALL SELECT d.receiver_id, d.id, d.giver_id, d.permissions FROM people_delegation d JOIN who
   ON who.id = d.receiver_id WHERE d.team_id = %(team)s AND d.until > statement_timestamp() AND d.revoked_at IS NULL)
 SELECT line.receiver, line.giver, line.permissions, giver.username, held.teams, held.slugs, held.roles FROM line
  JOIN people_user giver ON giver.id = line.giver AND giver.is_active
  CROSS JOIN LATERAL (SELECT array_agg(m.team_id) AS teams, array_agg(t.slug) AS slugs, array_agg(m.role) AS roles
   FROM people_membership m JOIN people_team t ON t.id = m.team_id WHERE m.user_id = line.giver) held
  ORDER BY line.receiver, line.loan NULLS FIRST"""


def standing(actors: Iterable[str], team: UUID) -> dict[str, tuple[Authority, ...]]:
    """What each of these people may decide now: their own first, then what is lent to them. One statement, because it
    stands between a decision and its effect.
    """
    ids = [UUID(actor.removeprefix("user:")) for actor in actors if actor.startswith("user:")]
    found: dict[str, tuple[Authority, ...]] = {}
    programs: set[UUID] = set()
    for receiver, giver, permissions, login, teams, slugs, roles in ledger.run(_STANDING, {"ids": ids, "team": team}):
        memberships = zip(teams or (), slugs or (), roles or (), strict=True)
        names = names_from((*each, login) for each in memberships)
        held = _of(names.get(team, frozenset()))
        if permissions is None and _is_program(names):
            programs.add(receiver)
        if receiver in programs:  # its own line comes first
            continue
        authority = held if permissions is None else _worth(held, permissions, f"user:{giver}")
        found[f"user:{receiver}"] = (*found.get(f"user:{receiver}", ()), authority)
    return found


def deciders(team: UUID) -> list[tuple[User, tuple[Authority, ...]]]:
    """Everybody who may decide something in the team, by name, with what they hold themselves and what is lent to
    them. Two queries, however many they are.
    """
    roles = [role for each in DELEGABLE for role in roles_with(each)]
    lent_some = delegations.running().filter(team=team).values("receiver")
    deciding = Q(memberships__team=team, memberships__role__in=roles) | Q(pk__in=lent_some)
    people = list(User.objects.filter(deciding, is_active=True).distinct().order_by("display_name", "pk"))
    held = standing([each.actor for each in people], team)
    found = ((each, held.get(each.actor, ())) for each in people)
    return [(each, authorities) for each, authorities in found if any(one.may for one in authorities)]
