"""The authority on which people may decide in a team at this instant: their own, and what colleagues delegated to them.

One statement reads it, for one person or for many. `too_few`: for a request that too few people can approve. Then a
deputy of the team has authority of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import msgspec
from django.contrib.auth.models import AnonymousUser

from agentstate.engine.decide import Approver, Authority
from agentstate.people.models import User
from agentstate.people.roles import A_PROGRAM, DELEGABLE, names_from, roles_with
from audit import ledger

Person = User | AnonymousUser
_NOTHING = Authority(frozenset())


class Reviewer(msgspec.Struct, frozen=True):
    """A person as a reviewer in a team: their own authority, those that colleagues delegated to them, and the actors
    who share a right with them.
    """

    by: str
    own: Authority = _NOTHING
    lent: tuple[Authority, ...] = ()
    sharing: frozenset[str] = frozenset()

    @property
    def authorities(self) -> tuple[Authority, ...]:
        """Returns their own authority and those delegated to them."""
        return (self.own, *self.lent)

    @property
    def may(self) -> frozenset[str]:
        """Returns the permissions of their own authority."""
        return self.own.may

    @property
    def names(self) -> frozenset[str]:
        """Returns the names by which rules know them in the team."""
        return self.own.names


def reviewer(user: Person, team: UUID, too_few: bool = False) -> Reviewer:
    """Returns what `user` may decide in the team now; nothing for an unknown or inactive person. One statement."""
    actor = user.actor if isinstance(user, User) else ""
    return reviewers([actor], team, too_few).get(actor, Reviewer(actor))


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


def _is_program(names: Mapping[UUID, frozenset[str]]) -> bool:
    return any(A_PROGRAM in each for each in names.values())


def _worth(held: Authority, permissions: Iterable[str], giver: str, shares: frozenset[str]) -> Authority:
    return Authority(held.may & frozenset(permissions), held.names, giver, shares)


_NAMED = "SELECT id FROM people_user WHERE id = ANY(%(ids)s::uuid[]) AND is_active"
_OF_TEAM = """SELECT id FROM people_user WHERE is_active AND id IN (
  SELECT user_id FROM people_membership WHERE team_id = %(team)s AND role = ANY(%(roles)s)
  UNION SELECT receiver_id FROM people_delegation WHERE team_id = %(team)s AND until > statement_timestamp()
   AND revoked_at IS NULL
  UNION SELECT user_id FROM people_deputy WHERE team_id = %(team)s AND %(too_few)s)"""

# A line for each person and for each delegation to them, with all memberships of the person whose authority it is, and
# the people who share a right with that person; their own line first. For a team's deputies, delegations in other
# teams count as shared rights too.
_AUTHORITIES = """WITH who AS ({who}),
 running AS (SELECT * FROM people_delegation WHERE until > statement_timestamp() AND revoked_at IS NULL),
 deputy AS (SELECT user_id FROM people_deputy WHERE team_id = %(team)s),
 line AS (SELECT id AS receiver, NULL::uuid AS loan, id AS giver, NULL::varchar[] AS permissions FROM who
  UNION ALL SELECT d.receiver_id, d.id, d.giver_id, d.permissions FROM running d JOIN who ON who.id = d.receiver_id
   WHERE d.team_id = %(team)s)
 SELECT line.receiver, line.giver, line.permissions, giver.username, held.teams, held.slugs, held.roles,
   %(too_few)s AND line.receiver IN (SELECT user_id FROM deputy), shared.people
  FROM line JOIN people_user giver ON giver.id = line.giver AND giver.is_active
  CROSS JOIN LATERAL (SELECT array_agg(m.team_id) AS teams, array_agg(t.slug) AS slugs, array_agg(m.role) AS roles
   FROM people_membership m JOIN people_team t ON t.id = m.team_id WHERE m.user_id = line.giver) held
  CROSS JOIN LATERAL (SELECT array_agg(CASE d.giver_id WHEN line.giver THEN d.receiver_id ELSE d.giver_id END) AS people
   FROM running d WHERE line.giver IN (d.giver_id, d.receiver_id) AND (d.team_id = %(team)s
    OR EXISTS (SELECT 1 FROM deputy WHERE user_id IN (d.giver_id, d.receiver_id)))) shared
  ORDER BY line.receiver, line.loan NULLS FIRST"""


def reviewers(actors: Iterable[str], team: UUID, too_few: bool = False) -> dict[str, Reviewer]:
    """Returns what each of these people may decide in the team now, by actor, without those who are inactive. One
    statement, because it runs between a decision and its effect.
    """
    ids = [UUID(actor.removeprefix("user:")) for actor in actors if actor.startswith("user:")]
    return _read(_NAMED, team, too_few, ids=ids) if ids else {}


def _read(who: str, team: UUID, too_few: bool, **params: object) -> dict[str, Reviewer]:
    found: dict[str, Reviewer] = {}
    programs: set[UUID] = set()
    for row in ledger.run(_AUTHORITIES.format(who=who), {"team": team, "too_few": too_few, **params}):
        receiver, permissions = row[0], row[2]
        if permissions is None:  # their own line, which comes first
            own, is_program = _own_line(row, team)
            found[own.by] = own
            programs |= {receiver} if is_program else set()
        elif receiver not in programs:
            actor = f"user:{receiver}"
            before = found[actor]
            found[actor] = msgspec.structs.replace(before, lent=(*before.lent, _lent_line(row, team)))
    return found


def _own_line(row: tuple[Any, ...], team: UUID) -> tuple[Reviewer, bool]:
    """Returns a person with their own authority, and whether they are a program."""
    names = _names(row)
    by = f"user:{row[0]}"
    return Reviewer(by, _own(names, team, row[7]), sharing=_people(row[8])), _is_program(names)


def _lent_line(row: tuple[Any, ...], team: UUID) -> Authority:
    """Returns a delegated authority: never more than the giver may now."""
    return _worth(_own(_names(row), team, is_deputy=False), row[2], f"user:{row[1]}", _people(row[8]))


def _names(row: tuple[Any, ...]) -> Mapping[UUID, frozenset[str]]:
    login, teams, slugs, roles = row[3:7]
    return names_from((*each, login) for each in zip(teams or (), slugs or (), roles or (), strict=True))


def _people(ids: Iterable[UUID] | None) -> frozenset[str]:
    return frozenset(f"user:{each}" for each in ids or ())


def _deciding(team: UUID, too_few: bool = False) -> dict[str, Reviewer]:
    """Returns each person with a right to decide in the team, by actor. One statement."""
    roles = [role for each in DELEGABLE for role in roles_with(each)]
    found = _read(_OF_TEAM, team, too_few, roles=roles)
    return {actor: held for actor, held in found.items() if any(each.may for each in held.authorities)}


def deciders(team: UUID, too_few: bool = False) -> list[tuple[User, Reviewer]]:
    """Returns the people with a right to decide in the team, by name. Two queries in all."""
    held = _deciding(team, too_few)
    people = User.objects.filter(pk__in=[actor.removeprefix("user:") for actor in held])
    return [(each, held[each.actor]) for each in people.order_by("display_name", "pk")]


def approvers(team: UUID) -> tuple[Approver, ...]:
    """Returns the people with a right to decide in the team when its requests are made: without deputies. One query."""
    return tuple(Approver(actor, held.authorities, held.sharing) for actor, held in _deciding(team).items())
