"""Who may decide a request, and why somebody may not: for the rows of a list, each team asked once.

What is said here follows the columns of a request's row, as the list does. The decision itself is judged anew, inside
the transaction that appends it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, F, Func, Q, TextField, Value

from agentstate.engine.decide import Authority
from agentstate.engine.decide.reviewing import needed
from agentstate.engine.policy.terms import may_review
from agentstate.people import deputies
from agentstate.people.models import User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission
from sessions.core import authority
from sessions.core.authority import Person
from sessions.descriptions import approvals
from sessions.models.sessions import ApprovalRequest

MOST_NAMED = 5  # people of whom a row says that they may decide it
APPROVED_BEFORE = "You have approved it already. Another person must approve it."


class Entitled:
    """What one person may decide: on their own authority, or on one that is lent to them; each team is asked once."""

    def __init__(self, user: Person) -> None:
        self._user = user
        self._actor = getattr(user, "actor", "")
        self._held: dict[tuple[UUID, bool], tuple[Authority, ...]] = {}
        self._sharing: dict[UUID, authority.Sharing] = {}
        self._deciders: dict[tuple[UUID, bool], list[tuple[User, tuple[Authority, ...]]]] = {}
        self._sets_up: frozenset[UUID] | None = None

    def theirs(self) -> Q:
        """The requests that are for them to decide, in all teams that they read."""
        mine, deputy_of = Q(pk=None), deputies.teams_of(self._user) if isinstance(self._user, User) else frozenset()
        for team in teams_with(self._user, Permission.READ):
            for each in self._authority(team, too_few=team in deputy_of):
                opened = _opened_by(each, team, self._one_person(team, self._actor))
                mine |= opened & Q(approvers_missing__gt=0) if each.deputy else opened
        return mine

    def why_not(self, row: ApprovalRequest, left_out: Mapping[str, str]) -> str:
        """Returns a sentence that says why they may not decide an open request; empty: they may. `left_out`: the actors
        who may not approve it, each with what they did.
        """
        held = [each for each in self._of(row) if needed(row.tier) in each.may]
        if not held:
            return f"Tier {row.tier} needs the permission {needed(row.tier)}."
        among = [each for each in held if may_review(_groups(row), each.names)]
        if not among:
            return f"It is for {approvals.groups_of_people(row.reviewers)}."
        if all(_is_left_out(each, self._one_person(row.team_id, self._actor), row) for each in among):
            return self._what_they_did(among[0], self._one_person(row.team_id, self._actor), left_out)
        return ""

    def may_reject(self, row: ApprovalRequest) -> bool:
        """Whether they may reject a request that is open. People who may not approve it may still reject it."""
        return any(_is_for(each, row) for each in self._of(row))

    def _what_they_did(self, authority: Authority, one_person: frozenset[str], left_out: Mapping[str, str]) -> str:
        if self._actor in left_out:
            return f"You {left_out[self._actor]}. Another person must approve it."
        if authority.of in left_out:
            return f"The person you decide for {left_out[authority.of]}. Another person must approve it."
        if shared := sorted(authority.shares & left_out.keys()):
            colleague = f"a colleague who {left_out[shared[0]]}"
            return f"The person you decide for shares a right with {colleague}. Another person must approve it."
        if shared := sorted(one_person & left_out.keys()):
            return f"A colleague with whom you share a right {left_out[shared[0]]}. Another person must approve it."
        return APPROVED_BEFORE

    def who_may(self, row: ApprovalRequest) -> list[str]:
        """The names of those who may decide it now; behind MOST_NAMED, how many more."""
        names = [
            user.display_name
            for user, held in self._in(row)
            if any(_may(each, self._one_person(row.team_id, user.actor), row) for each in held)
        ]
        return _most(names)

    def deputies(self, row: ApprovalRequest, left_out: Collection[str]) -> list[str]:
        """The names of the deputies for whom it is, because too few people could approve it; behind MOST_NAMED, how
        many more. A deputy who has approved it stays one of them.
        """
        names = [
            user.display_name
            for user, held in self._in(row)
            if any(each.deputy and _is_for(each, row) for each in held)
            and not self._one_person(row.team_id, user.actor) & set(left_out)
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
            (user, held)
            for user, held in self._in(row)
            if any(_may(one, self._one_person(row.team_id, user.actor), row) for one in held)
        ]
        teams = {name for _, held in found for name in held[0].names if name.startswith("team:")}
        people = [(user.username, user.display_name) for user, _ in found]
        return people + [(name, f"Team {name.removeprefix('team:')}") for name in sorted(teams)]

    def _in(self, row: ApprovalRequest) -> list[tuple[User, tuple[Authority, ...]]]:
        key = row.team_id, row.approvers_missing > 0
        if key not in self._deciders:
            self._deciders[key] = authority.deciders(row.team_id, self._shared(row.team_id), key[1])
        return self._deciders[key]

    def _of(self, row: ApprovalRequest) -> tuple[Authority, ...]:
        return self._authority(row.team_id, too_few=row.approvers_missing > 0)

    def _one_person(self, team: UUID, actor: str) -> frozenset[str]:
        """Returns the actor and the people who share a right with them. A proposal by one of them excludes all."""
        return self._shared(team).get(actor, frozenset()) | {actor}

    def _shared(self, team: UUID) -> authority.Sharing:
        if team not in self._sharing:
            self._sharing[team] = authority.sharing(team)
        return self._sharing[team]

    def _authority(self, team: UUID, too_few: bool) -> tuple[Authority, ...]:
        if (team, too_few) not in self._held:
            mine = authority.own(self._user, team, too_few)
            self._held[team, too_few] = (mine, *authority.lent(self._user, team, self._shared(team)))
        return self._held[team, too_few]


def _opened_by(each: Authority, team: UUID, one_person: frozenset[str]) -> Q:
    """What one authority opens: its team and tiers, where it is among the reviewers and not left out."""
    if Permission.DECIDE not in each.may and Permission.DECIDE_TIER3 not in each.may:
        return Q(pk=None)
    tiers = Q(tier__lt=3) if Permission.DECIDE_TIER3 not in each.may else Q(tier__gte=0)
    if Permission.DECIDE not in each.may:
        tiers = Q(tier__gte=3)
    actors = sorted(name for name in {*one_person, *each.shares, each.of} if name)
    return Q(_Reviews(F("reviewers"), Value(sorted(each.names), ArrayField(TextField()))), tiers, team=team) & ~Q(
        excluded__overlap=actors
    )


class _Reviews(Func):
    """Whether somebody with these names is in each group of reviewers."""

    template = "NOT EXISTS (SELECT 1 FROM jsonb_array_elements(%(expressions)s::text[]))"
    arg_joiner = ") AS g(names) WHERE NOT jsonb_exists_any(g.names, "
    output_field = BooleanField()


def _may(each: Authority, one_person: frozenset[str], row: ApprovalRequest) -> bool:
    """The same as `_opened_by`, of one row that is at hand."""
    return _is_for(each, row) and not _is_left_out(each, one_person, row)


def _is_for(each: Authority, row: ApprovalRequest) -> bool:
    return needed(row.tier) in each.may and may_review(_groups(row), each.names)


def _most(names: list[str]) -> list[str]:
    return names[:MOST_NAMED] + ([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else [])


def _is_left_out(each: Authority, one_person: frozenset[str], row: ApprovalRequest) -> bool:
    return bool(({*one_person, *each.shares, each.of} - {""}) & set(row.excluded))


def _groups(row: ApprovalRequest) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group) for group in row.reviewers)
