"""What follows from a person's roles alone: which roles include a permission, and by which names rules know them."""

from __future__ import annotations

from uuid import UUID

from agentstate.people.roles import A_PROGRAM, ROLES, Permission, Role, names_from, roles_with

RETAIL, CARDS = UUID(int=1), UUID(int=2)


def test_the_roles_that_include_a_permission_are_named_in_order():
    assert roles_with(Permission.READ) == ["caller", "program", "supervisor", "viewer"]
    assert roles_with(Permission.STOP_EVERYWHERE) == ["incident_manager"]
    for permission in Permission:
        assert {Role(name) for name in roles_with(permission)} == {role for role in Role if permission in ROLES[role]}


def test_rules_know_a_person_by_their_login_and_all_their_teams_and_in_each_team_by_their_roles_there():
    rows = [
        (RETAIL, "retail", "supervisor", "maya"),
        (RETAIL, "retail", "admin", "maya"),
        (CARDS, "cards", "viewer", "maya"),
    ]
    everywhere = {"user:maya", "team:retail", "team:cards"}
    assert names_from(iter(rows)) == {
        RETAIL: everywhere | {"role:supervisor", "role:admin"},
        CARDS: everywhere | {"role:viewer"},
    }
    assert names_from([]) == {}


def test_an_account_that_is_a_program_in_one_team_is_a_program_in_every_team():
    names = names_from([(RETAIL, "retail", "program", "crm"), (CARDS, "cards", "supervisor", "crm")])
    assert all(A_PROGRAM in each for each in names.values())
    assert "role:supervisor" not in names[RETAIL]
