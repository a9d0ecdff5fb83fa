"""Who may approve a request is one predicate of the engine. The SQL of lists agrees with it, and so does the statement
that reads people's authority with a reading of the same rows one by one.
"""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentstate.clock import now
from agentstate.engine.decide import reviewing
from agentstate.ids import new_id
from agentstate.people.models import Delegation, Deputy, Membership, User
from agentstate.people.permissions import can
from agentstate.people.roles import DELEGABLE, Permission, Role
from sessions.core import authority
from sessions.core.entitled import Entitled
from sessions.models.sessions import ApprovalRequest
from tests import cast
from tests.shell import authority_oracle
from tests.shell.test_pages import paused

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = ("p0", "p1", "p2", "p3")
numbers = st.integers(0, len(PEOPLE) - 1)
roles = st.sampled_from([Role.SUPERVISOR, Role.VIEWER, Role.ADMIN, Role.PROGRAM])
loans = st.tuples(numbers, numbers, st.integers(0, 1), st.sets(st.sampled_from(DELEGABLE), min_size=1), st.booleans())
requests = st.fixed_dictionaries(
    {
        "tier": st.integers(0, 3),
        "groups": st.lists(st.lists(st.sampled_from(["role:supervisor", "team:retail", "team:cards", "user:p0"]),
                                    min_size=1, max_size=2, unique=True), max_size=2),
        "excluded": st.sets(numbers, max_size=2),
        "missing": st.integers(0, 1),
    }
)  # fmt: skip
worlds = st.fixed_dictionaries(
    {
        "memberships": st.sets(st.tuples(numbers, st.integers(0, 1), roles), max_size=7),
        "loans": st.lists(loans, max_size=4),
        "deputies": st.sets(st.tuples(numbers, st.integers(0, 1)), max_size=3),
        "inactive": st.sets(numbers, max_size=1),
        "requests": st.lists(requests, min_size=1, max_size=4),
    }
)


def arranged(world: dict[str, Any], people: list[User], teams: list[UUID], like: ApprovalRequest) -> list[UUID]:
    """Puts the drawn world into the database; the ids of its requests."""
    Membership.objects.filter(user__in=people).delete()
    Delegation.objects.all().delete()
    Deputy.objects.all().delete()
    ApprovalRequest.objects.exclude(pk=like.pk).delete()
    for number, user in enumerate(people):
        User.objects.filter(pk=user.pk).update(is_active=number not in world["inactive"])
    for number, team, role in world["memberships"]:
        Membership.objects.create(tenant_id=people[0].tenant_id, user=people[number], team_id=teams[team], role=role)
    for giver, receiver, team, permissions, runs in world["loans"]:
        if giver != receiver:
            Delegation.objects.create(
                tenant_id=people[0].tenant_id,
                giver=people[giver],
                receiver=people[receiver],
                team_id=teams[team],
                permissions=sorted(permissions),
                sealed_reason=b"",
                until=now() + timedelta(hours=1 if runs else -1),
            )
    for number, team in world["deputies"]:
        Deputy.objects.create(tenant_id=people[0].tenant_id, team_id=teams[team], user=people[number])
    return [_request(each, people, like) for each in world["requests"]]


def _request(drawn: dict[str, Any], people: list[User], like: ApprovalRequest) -> UUID:
    row = ApprovalRequest.objects.get(pk=like.pk)
    row.pk, row.tier, row.reviewers = new_id(), drawn["tier"], drawn["groups"]
    row.excluded, row.approvers_missing = [people[each].actor for each in drawn["excluded"]], drawn["missing"]
    row.save(force_insert=True)
    return row.pk


@pytest.fixture
def place(bank) -> SimpleNamespace:
    _, line = paused()
    people = [cast.person(name, Role.VIEWER, cast.retail()) for name in PEOPLE]
    row = ApprovalRequest.objects.get(pk=line.id)
    return SimpleNamespace(people=people, teams=[cast.retail().pk, cast.cards().pk], row=row)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(world=worlds)
def test_the_sql_of_lists_the_reading_of_authority_and_the_predicate_agree(place, world):
    made = arranged(world, place.people, place.teams, place.row)
    for user in User.objects.filter(pk__in=[each.pk for each in place.people]):
        for team in place.teams:
            for too_few in (False, True):
                held = authority.reviewers([user.actor], team, too_few).get(user.actor)
                assert held == (authority_oracle.reviewer(user, team, too_few) if user.is_active else None)
        mine = set(ApprovalRequest.objects.filter(Entitled(user).theirs(), pk__in=made).values_list("pk", flat=True))
        assert mine == {each for each in made if _may(user, each)}


def _may(user: User, request: UUID) -> bool:
    """As the engine says it of a person who reads the team's sessions."""
    row = ApprovalRequest.objects.get(pk=request)
    held = authority_oracle.reviewer(user, row.team_id, row.approvers_missing > 0)
    groups = tuple(map(tuple, row.reviewers))
    return can(user, Permission.READ, row.team_id) and any(
        reviewing.approves(held, each, row.tier, groups, row.approvers_missing, row.excluded)
        for each in (held.own, *held.lent)
    )
