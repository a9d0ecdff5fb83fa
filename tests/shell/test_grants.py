"""An auditor's access: opened by a grant, for a time, on a scope, read only; given and taken back on record."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.people import grants, trail
from agentstate.people.errors import NoAuditor, OwnAccount
from agentstate.people.models import AccessGrant
from agentstate.people.permissions import PermissionDenied, can, narrow_grants, teams_with
from agentstate.people.roles import GRANTABLE, Permission, Role
from tests.cast import adam, alice, anna, cards, person, retail, vera

pytestmark = pytest.mark.django_db
SOON = timedelta(hours=1)


def give(**wishes):
    return grants.give(anna(), retail(), **{"until": now() + SOON, "reason": "yearly audit", "by": adam(), **wishes})


def holds() -> set[Permission]:
    return {permission for permission in Permission if can(anna(), permission, retail())}


def test_the_role_alone_opens_nothing_and_a_grant_opens_what_it_says():
    assert holds() == set()
    give(kinds=["read", "export"])
    assert holds() == {Permission.SEE, Permission.READ, Permission.EXPORT}
    assert teams_with(anna(), Permission.READ) == [retail().pk]


@pytest.mark.parametrize("column", ["until", "starts"])
def test_before_its_beginning_and_after_its_end_a_grant_opens_nothing(column):
    grant = give(kinds=GRANTABLE)
    moved = {"until": now() - SOON, "starts": now() - 2 * SOON} if column == "until" else {"starts": now() + SOON / 2}
    AccessGrant.objects.filter(pk=grant.pk).update(**moved)
    assert holds() == set()


def test_a_grant_taken_back_opens_nothing_and_both_are_on_record(monkeypatch):
    told = []
    monkeypatch.setattr(trail, "sink", told.append)
    grant = give()
    grants.revoke(grant.pk, adam())
    grants.revoke(grant.pk, adam())
    assert holds() == set()
    kinds = [record.kind for record in told if record.kind.startswith("grant.")]
    assert kinds == ["grant.given", "grant.revoked"]


def test_a_grant_on_some_sessions_opens_no_team():
    give(sessions=[UUID(int=7)])
    assert holds() == set()
    assert [grant.sessions for grant in narrow_grants(anna())] == [[UUID(int=7)]]


def test_a_grant_ends_with_the_role():
    from agentstate.people.commands import remove_role

    give()
    give(sessions=[UUID(int=7)])
    remove_role(anna(), retail(), Role.AUDITOR, None)
    assert holds() == set()
    assert narrow_grants(anna()) == []


def test_only_who_configures_the_team_gives_and_nobody_to_themselves():
    with pytest.raises(PermissionDenied):
        give(by=alice())
    with pytest.raises(PermissionDenied):
        grants.give(person("ann2", Role.AUDITOR, cards()), cards(), until=now() + SOON, reason="x", by=adam())
    with pytest.raises(OwnAccount):
        grants.give(adam(), retail(), until=now() + SOON, reason="x", by=adam())
    with pytest.raises(NoAuditor):
        grants.give(vera(), retail(), until=now() + SOON, reason="x", by=adam())


@pytest.mark.parametrize(
    "wish",
    [
        {"until": now() - SOON},
        {"until": now() + 2 * grants.LONGEST},
        {"reason": " "},
        {"reason": "x" * 501},
        {"kinds": ["decide"]},
        {"kinds": ["'; DROP TABLE"]},
        {"opened_from": now(), "opened_to": now() - SOON},
        {"sessions": [UUID(int=number) for number in range(501)]},
    ],
)
def test_an_absurd_grant_is_refused_by_field(wish):
    with pytest.raises(Invalid) as refused:
        give(**wish)
    assert refused.value.facts["field"] in wish


def test_a_stranger_takes_nothing_back():
    grant = give()
    with pytest.raises(grants.UnknownGrant):
        grants.revoke(grant.pk, alice())
    assert holds() == {Permission.SEE, Permission.READ}
