"""The authority on which a person decides in a team at this instant: their own, and what colleagues have delegated to
them.

`too_few`: for a request that too few people can approve. Then a deputy of the team has authority of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q

from agentstate.engine.decide import Approver, Authority
from agentstate.people import delegations, deputies
from agentstate.people.models import Deputy, User
from agentstate.people.permissions import names_in
from agentstate.people.roles import A_PROGRAM, DELEGABLE, names_from, roles_with
from audit import ledger

Person = User | AnonymousUser
Sharing = Mapping[str, frozenset[str]]  # by actor, the actors who share a right with them in a team
_NOBODY: Sharing = {}


def own(user: Person, team: UUID, too_few: bool = False) -> Authority:
    """What `user` may decide themselves. One query: roles are among the names, and no grant gives these. One more where
    they could be a deputy.
    """
    names = names_in(user)
    return _own(names, team, too_few and isinstance(user, User) and team in deputies.teams_of(user))


def _own(names: Mapping[UUID, frozenset[str]], team: UUID, is_deputy: bool) -> Authority:
    """Returns what a person with these names by team may decide in one team themselves. A deputy who decides nothing in
    it has the authority of another team there, under all their names.
    """
    held = _of(names.get(team, frozenset()))
    if held.may or not is_deputy:
        return held
    everywhere = _of(frozenset().union(*names.values()))
    return Authority(everywhere.may, everywhere.names, deputy=bool(everywhere.may))


def _of(names: frozenset[str]) -> Authority:
    """Returns what a person with these names may decide. A program decides nothing, whatever other roles it has."""
    if A_PROGRAM in names:
        return Authority(frozenset(), names)
    held = [each for each in DELEGABLE if any(f"role:{role}" in names for role in roles_with(each))]
    return Authority(frozenset(each.value for each in held), names)


def lent(user: Person, team: UUID, shared: Sharing | None = None) -> tuple[Authority, ...]:
    """Returns the authorities that colleagues have delegated to `user`: never more than the giver may now, and none for
    a program. `shared`: the people who share a right in the team, if they are already known.
    """
    if not isinstance(user, User):
        return ()
    loans = [each for each in delegations.lent_to(user) if each.team_id == team]
    if loans and _is_program(names_in(user)):
        return ()
    if loans and shared is None:
        shared = sharing(team)
    return tuple(_worth(own(each.giver, team), each.permissions, each.giver.actor, shared or {}) for each in loans)


def sharing(team: UUID) -> Sharing:
    """Returns, by actor of a running delegation in the team, the actors who share a right with them. For the team's
    deputies, delegations in other teams count too. One query.
    """
    found: dict[str, set[str]] = {}
    named = Deputy.objects.filter(team=team).values("user")
    here = Q(team=team) | Q(giver__in=named) | Q(receiver__in=named)
    for delegation in delegations.running().filter(here).select_related("giver", "receiver"):
        found.setdefault(delegation.giver.actor, set()).add(delegation.receiver.actor)
        found.setdefault(delegation.receiver.actor, set()).add(delegation.giver.actor)
    return {actor: frozenset(others) for actor, others in found.items()}


def _is_program(names: Mapping[UUID, frozenset[str]]) -> bool:
    return any(A_PROGRAM in each for each in names.values())


def _worth(held: Authority, permissions: Iterable[str], giver: str, shared: Sharing) -> Authority:
    return Authority(held.may & frozenset(permissions), held.names, giver, shared.get(giver, frozenset()))


_NAMED = "SELECT id FROM people_user WHERE id = ANY(%(ids)s::uuid[]) AND is_active"
_OF_TEAM = """SELECT id FROM people_user WHERE is_active AND id IN (
  SELECT user_id FROM people_membership WHERE team_id = %(team)s AND role = ANY(%(roles)s)
  UNION SELECT receiver_id FROM people_delegation WHERE team_id = %(team)s AND until > statement_timestamp()
   AND revoked_at IS NULL
  UNION SELECT user_id FROM people_deputy WHERE team_id = %(team)s AND %(too_few)s)"""

# A line for each person and for each delegation to them, with all memberships of whose authority it is; their own line
# first. As `own` and `lent` read it, and a test holds the two to each other.
_AUTHORITIES = """WITH who AS ({who}),
 line AS (SELECT id AS receiver, NULL::uuid AS loan, id AS giver, NULL::varchar[] AS permissions FROM who
  UNION ALL SELECT d.receiver_id, d.id, d.giver_id, d.permissions FROM people_delegation d JOIN who
   ON who.id = d.receiver_id WHERE d.team_id = %(team)s AND d.until > statement_timestamp() AND d.revoked_at IS NULL)
 SELECT line.receiver, line.giver, line.permissions, giver.username, held.teams, held.slugs, held.roles,
   %(too_few)s AND EXISTS (SELECT 1 FROM people_deputy p WHERE p.team_id = %(team)s AND p.user_id = line.receiver)
  FROM line JOIN people_user giver ON giver.id = line.giver AND giver.is_active
  CROSS JOIN LATERAL (SELECT array_agg(m.team_id) AS teams, array_agg(t.slug) AS slugs, array_agg(m.role) AS roles
   FROM people_membership m JOIN people_team t ON t.id = m.team_id WHERE m.user_id = line.giver) held
  ORDER BY line.receiver, line.loan NULLS FIRST"""


def authorities_of(
    actors: Iterable[str], team: UUID, too_few: bool = False, shared: Sharing = _NOBODY
) -> dict[str, tuple[Authority, ...]]:
    """Returns what each of these people may decide now: their own authority first, then those delegated to them. One
    statement, because it runs between a decision and its effect. `shared`: the people who share a right there.
    """
    ids = [UUID(actor.removeprefix("user:")) for actor in actors if actor.startswith("user:")]
    return _standing(_NAMED, team, too_few, shared, ids=ids)


def _standing(
    who: str, team: UUID, too_few: bool, shared: Sharing, **params: object
) -> dict[str, tuple[Authority, ...]]:
    found: dict[str, tuple[Authority, ...]] = {}
    programs: set[UUID] = set()
    rows = ledger.run(_AUTHORITIES.format(who=who), {"team": team, "too_few": too_few, **params})
    for receiver, giver, permissions, login, teams, slugs, roles, is_deputy in rows:
        memberships = zip(teams or (), slugs or (), roles or (), strict=True)
        names = names_from((*each, login) for each in memberships)
        if permissions is None and _is_program(names):
            programs.add(receiver)
        if receiver in programs:  # its own line comes first
            continue
        held = _own(names, team, is_deputy and permissions is None)
        authority = held if permissions is None else _worth(held, permissions, f"user:{giver}", shared)
        found[f"user:{receiver}"] = (*found.get(f"user:{receiver}", ()), authority)
    return found


def _deciding(team: UUID, shared: Sharing, too_few: bool = False) -> dict[str, tuple[Authority, ...]]:
    """Returns what each person with a right to decide in the team may decide there, by actor. One statement."""
    roles = [role for each in DELEGABLE for role in roles_with(each)]
    found = _standing(_OF_TEAM, team, too_few, shared, roles=roles)
    return {actor: held for actor, held in found.items() if any(each.may for each in held)}


def deciders(team: UUID, shared: Sharing, too_few: bool = False) -> list[tuple[User, tuple[Authority, ...]]]:
    """Returns the people with a right to decide in the team, by name, with their own authority and those delegated to
    them. `shared`: the people who share a right there. Two queries in all.
    """
    held = _deciding(team, shared, too_few)
    people = User.objects.filter(pk__in=[actor.removeprefix("user:") for actor in held])
    return [(each, held[each.actor]) for each in people.order_by("display_name", "pk")]


def approvers(team: UUID) -> tuple[Approver, ...]:
    """Returns the people with a right to decide in the team when its requests are made: without deputies. Two queries
    in all.
    """
    shared = sharing(team)
    deciding = _deciding(team, shared)
    return tuple(Approver(actor, held, shared.get(actor, frozenset())) for actor, held in deciding.items())
