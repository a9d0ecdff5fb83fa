"""What is said where roles of the database are one."""

from __future__ import annotations

import pytest

from agentstate.database_roles import DatabaseRoles


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        (DatabaseRoles("a", "o", "e"), ""),
        (DatabaseRoles("a", "a", "a"), "One database role owns everything."),
        (DatabaseRoles("a", "a", "e"), "One database role owns everything."),
        (DatabaseRoles("a", "o", "o"), "The database role that erases is the one that owns the tables."),
        (DatabaseRoles("a", "o", "a"), "The database role that erases is the one that serves."),
    ],
)
def test_each_role_that_is_not_its_own_is_named(roles, said):
    assert " ".join(roles.warnings).startswith(said)
    assert bool(roles.warnings) == bool(said)
    assert all("docs/settings.md" in warning for warning in roles.warnings)
