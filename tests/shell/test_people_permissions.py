"""Who may do what: the table of roles, and that each question is answered by the database as it is now."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from agentstate.people.commands import disable, grant_role, remove_role
from agentstate.people.permissions import PermissionDenied, can, require, teams_with
from agentstate.people.roles import ROLES, Permission, Role, roles_with
from tests.cast import adam, alice, anna, cards, charlie, cleo, retail, vera

TABLE = {  # the promise, spelt out here on its own: a change of ROLES must be made in both places
    Role.VIEWER: "see read",
    Role.SUPERVISOR: "see read unmask whisper barge_in take_over stop decide decide_tier3 export disclose keep_profile"
    " change_state seal erase_request",
    Role.AUDITOR: "",
    Role.ADMIN: "see configure audit retention stop",
    Role.PRIVACY: "see seal erase_request erase_approve hold retention subject_report",
    Role.PRIVACY_OFFICER: "see decide_overdue",
    Role.CALLER: "see read open_session speak_as_customer",
    Role.INCIDENT_MANAGER: "see stop stop_everywhere",
    Role.PROGRAM: "see read change_state",
}


@pytest.mark.parametrize("role", Role)
def test_each_role_is_exactly_its_bundle(role: Role) -> None:
    assert ROLES[role] == {Permission(name) for name in TABLE[role].split()}


def test_every_permission_is_in_some_role() -> None:
    assert all(roles_with(permission) for permission in Permission)


def test_nobody_who_decides_also_configures() -> None:
    assert set(roles_with(Permission.DECIDE)).isdisjoint(roles_with(Permission.CONFIGURE))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("who", "role"),
    [
        (alice, Role.SUPERVISOR),
        (vera, Role.VIEWER),
        (anna, Role.AUDITOR),
        (adam, Role.ADMIN),
        (cleo, Role.CALLER),
    ],
)
def test_a_person_can_what_the_role_says_and_nothing_else(who, role) -> None:
    held = {permission for permission in Permission if can(who(), permission, retail())}
    assert held == ROLES[role]


@pytest.mark.django_db
def test_charlie_can_nothing_in_a_team_that_is_not_his() -> None:
    assert not any(can(charlie(), permission, retail()) for permission in Permission)
    assert teams_with(charlie(), Permission.SEE) == [cards().pk]


@pytest.mark.django_db
def test_roles_in_two_teams_stay_apart() -> None:
    grant_role(charlie(), retail(), Role.VIEWER, None)
    assert sorted([retail().pk, cards().pk]) == teams_with(charlie(), Permission.SEE)
    assert teams_with(charlie(), Permission.DECIDE) == [cards().pk]


@pytest.mark.django_db
def test_two_roles_in_one_team_name_it_once() -> None:
    grant_role(alice(), retail(), Role.AUDITOR, None)
    assert teams_with(alice(), Permission.EXPORT) == [retail().pk]


@pytest.mark.django_db
def test_a_stranger_can_nothing_and_costs_no_query(django_assert_num_queries) -> None:
    team = retail()
    with django_assert_num_queries(0):
        assert not can(AnonymousUser(), Permission.SEE, team)
        assert teams_with(AnonymousUser(), Permission.SEE) == []


@pytest.mark.django_db
def test_each_question_is_one_query(django_assert_num_queries) -> None:
    user, team = alice(), retail()
    with django_assert_num_queries(1):
        assert can(user, Permission.DECIDE, team)
    with django_assert_num_queries(1):
        assert teams_with(user, Permission.DECIDE) == [team.pk]


@pytest.mark.django_db
def test_a_refusal_has_a_code_and_names_the_permission() -> None:
    with pytest.raises(PermissionDenied) as refused:
        require(vera(), Permission.DECIDE, retail())
    assert (refused.value.code, refused.value.status) == ("permission_denied", 403)
    assert refused.value.facts == {"permission": "decide"}
    assert "decide" in str(refused.value)


@pytest.mark.django_db
def test_a_role_taken_away_counts_for_an_object_loaded_before() -> None:
    user = alice()
    require(user, Permission.DECIDE, retail())
    remove_role(alice(), retail(), Role.SUPERVISOR, None)
    assert not can(user, Permission.DECIDE, retail())


@pytest.mark.django_db
def test_disabling_counts_for_an_object_loaded_before() -> None:
    user = alice()
    disable(alice(), None)
    assert user.is_active
    assert not can(user, Permission.SEE, retail())
    assert teams_with(user, Permission.SEE) == []
