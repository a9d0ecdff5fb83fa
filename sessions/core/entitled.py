"""Who may decide a request, and why somebody may not: for the rows of a list, each team asked once.

What is said here follows the columns of a request's row, as the list does. The decision itself is judged anew, inside
the transaction that appends it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, F, Func, Q, TextField, Value

from agentstate.engine.decide import Authority, reviewing
from agentstate.engine.decide.reviewing import needed
from agentstate.engine.policy import HIGHEST_TIER
from agentstate.people import deputies
from agentstate.people.models import User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission
from sessions.core import authority
from sessions.core.authority import Person, Reviewer
from sessions.descriptions import approvals
from sessions.models.sessions import ApprovalRequest

MOST_NAMED = 5  # people of whom a row says that they may decide it
APPROVED_BEFORE = "You have approved it already. Another person must approve it."


class Entitled:
    """What one person may decide: on their own authority, or on one that is lent to them; each team is asked once."""

    def __init__(self, user: Person) -> None:
        self._user = user
        self._actor = getattr(user, "actor", "")
        self._held: dict[tuple[UUID, bool], Reviewer] = {}
        self._deciders: dict[tuple[UUID, bool], list[tuple[User, Reviewer]]] = {}
        self._sets_up: frozenset[UUID] | None = None

    def theirs(self) -> Q:
        """The requests that are for them to decide, in all teams that they read."""
        mine, deputy_of = Q(pk=None), deputies.teams_of(self._user) if isinstance(self._user, User) else frozenset()
        for team in teams_with(self._user, Permission.READ):
            held = self._held_in(team, too_few=team in deputy_of)
            for each in held.authorities:
                mine |= _may_approve(held, each, team)
        return mine

    def why_not(self, row: ApprovalRequest, left_out: Mapping[str, str]) -> str:
        """Returns a sentence that says why they may not decide an open request; empty: they may. `left_out`: the actors
        who may not approve it, each with what they did.
        """
        held = self._of(row)
        among = [each for each in held.authorities if _entitles(each, row)]
        if among:
            may = any(_approves(held, each, row) for each in among)
            return "" if may else self._what_they_did(among[0], held, left_out)
        if not any(needed(row.tier) in each.may for each in held.authorities):
            return f"Tier {row.tier} needs the permission {needed(row.tier)}."
        return f"It is for {approvals.groups_of_people(row.reviewers)}."

    def may_reject(self, row: ApprovalRequest) -> bool:
        """Whether they may reject a request that is open. People who may not approve it may still reject it."""
        return any(_entitles(each, row) for each in self._of(row).authorities)

    def _what_they_did(self, authority: Authority, held: Reviewer, left_out: Mapping[str, str]) -> str:
        if self._actor in left_out:
            return f"You {left_out[self._actor]}. Another person must approve it."
        if authority.of in left_out:
            return f"The person you decide for {left_out[authority.of]}. Another person must approve it."
        if shared := sorted(authority.shares & left_out.keys()):
            colleague = f"a colleague who {left_out[shared[0]]}"
            return f"The person you decide for shares a right with {colleague}. Another person must approve it."
        if shared := sorted(held.sharing & left_out.keys()):
            return f"A colleague with whom you share a right {left_out[shared[0]]}. Another person must approve it."
        return APPROVED_BEFORE

    def who_may(self, row: ApprovalRequest) -> list[str]:
        """The names of those who may decide it now; behind MOST_NAMED, how many more."""
        names = [
            user.display_name
            for user, held in self._in(row)
            if any(_approves(held, each, row) for each in held.authorities)
        ]
        return _most(names)

    def deputies(self, row: ApprovalRequest, left_out: Collection[str]) -> list[str]:
        """The names of the deputies for whom it is, because too few people could approve it; behind MOST_NAMED, how
        many more. A deputy who has approved it stays one of them.
        """
        names = [
            user.display_name
            for user, held in self._in(row)
            if any(each.deputy and _entitles(each, row) for each in held.authorities)
            and not ({held.by} | held.sharing) & set(left_out)
        ]
        return _most(names)

    def may_name_deputies(self, row: ApprovalRequest) -> bool:
        """Whether they may name deputies of the request's team."""
        if self._sets_up is None:
            self._sets_up = frozenset(teams_with(self._user, Permission.CONFIGURE))
        return row.team_id in self._sets_up

    def assignable(self, row: ApprovalRequest) -> list[tuple[str, str]]:
        """To whom a request that waits may be given, as it is sent and as people read it: who may decide it, and the
        teams that they are in.
        """
        found = [
            (user, held) for user, held in self._in(row) if any(_approves(held, each, row) for each in held.authorities)
        ]
        teams = {name for _, held in found for name in held.names if name.startswith("team:")}
        people = [(user.username, user.display_name) for user, _ in found]
        return people + [(name, f"Team {name.removeprefix('team:')}") for name in sorted(teams)]

    def _in(self, row: ApprovalRequest) -> list[tuple[User, Reviewer]]:
        key = row.team_id, row.approvers_missing > 0
        if key not in self._deciders:
            self._deciders[key] = authority.deciders(*key)
        return self._deciders[key]

    def _of(self, row: ApprovalRequest) -> Reviewer:
        return self._held_in(row.team_id, too_few=row.approvers_missing > 0)

    def _held_in(self, team: UUID, too_few: bool) -> Reviewer:
        if (team, too_few) not in self._held:
            self._held[team, too_few] = authority.reviewer(self._user, team, too_few)
        return self._held[team, too_few]


def _entitles(each: Authority, row: ApprovalRequest) -> bool:
    return reviewing.entitles(each, row.tier, _groups(row), row.approvers_missing)


def _approves(held: Reviewer, each: Authority, row: ApprovalRequest) -> bool:
    return reviewing.approves(held, each, row.tier, _groups(row), row.approvers_missing, row.excluded)


def _may_approve(held: Reviewer, each: Authority, team: UUID) -> Q:
    """Returns the SQL of `reviewing.approves` over the rows of a team. A test holds the two to each other."""
    low, high = needed(HIGHEST_TIER - 1) in each.may, needed(HIGHEST_TIER) in each.may
    tiers = Q(pk=None)
    if low:
        tiers |= Q(tier__lt=HIGHEST_TIER)
    if high:
        tiers |= Q(tier__gte=HIGHEST_TIER)
    reviews = _Reviews(F("reviewers"), Value(sorted(each.names), ArrayField(TextField())))
    missing = Q(approvers_missing__gt=0) if each.deputy else Q()
    return Q(reviews, tiers, missing, team=team) & ~Q(excluded__overlap=sorted(reviewing.one_person(held, each)))


class _Reviews(Func):
    """Whether somebody with these names is in each group of reviewers."""

    template = "NOT EXISTS (SELECT 1 FROM jsonb_array_elements(%(expressions)s::text[]))"
    arg_joiner = ") AS g(names) WHERE NOT jsonb_exists_any(g.names, "
    output_field = BooleanField()


def _most(names: list[str]) -> list[str]:
    return names[:MOST_NAMED] + ([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else [])


def _groups(row: ApprovalRequest) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group) for group in row.reviewers)
