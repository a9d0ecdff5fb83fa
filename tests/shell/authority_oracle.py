"""What people may decide, read row by row: what the one statement of `sessions.core.authority` must say too."""

from __future__ import annotations

from uuid import UUID

from agentstate.engine.decide import Authority
from agentstate.people.models import Delegation, Deputy, Membership, User
from agentstate.people.permissions import names_in
from agentstate.people.roles import A_PROGRAM, DELEGABLE, names_from, roles_with
from sessions.core.authority import Reviewer


def reviewer(user: User, team: UUID, too_few: bool = False) -> Reviewer:
    """Returns what a person may decide in the team."""
    lent = [] if _is_program(user) else [_lent(each, team) for each in _loans(user, team)]
    return Reviewer(user.actor, _own(user, team, too_few), tuple(lent), _sharing(user, team))


def _own(user: User, team: UUID, too_few: bool) -> Authority:
    names = names_in(user)
    assert names == names_from(
        (each.team_id, each.team.slug, each.role, user.username)
        for each in Membership.objects.filter(user=user, user__is_active=True).select_related("team")
    )
    held = _of(names.get(team, frozenset()))
    if held.may or not too_few or not Deputy.objects.filter(team=team, user=user).exists():
        return held
    everywhere = _of(frozenset().union(*names.values()))
    return Authority(everywhere.may, everywhere.names, deputy=bool(everywhere.may))


def _of(names: frozenset[str]) -> Authority:
    if A_PROGRAM in names:
        return Authority(frozenset(), names)
    return Authority(frozenset(p.value for p in DELEGABLE if {f"role:{r}" for r in roles_with(p)} & names), names)


def _is_program(user: User) -> bool:
    return any(A_PROGRAM in each for each in names_in(user).values())


def _running() -> list[Delegation]:
    from agentstate.people import delegations

    return list(delegations.running().select_related("giver", "receiver").order_by("pk"))


def _loans(user: User, team: UUID) -> list[Delegation]:
    return [each for each in _running() if each.receiver == user and each.team_id == team and each.giver.is_active]


def _lent(loan: Delegation, team: UUID) -> Authority:
    held = _own(loan.giver, team, too_few=False)
    may = held.may & frozenset(loan.permissions)
    return Authority(may, held.names, loan.giver.actor, _sharing(loan.giver, team))


def _sharing(user: User, team: UUID) -> frozenset[str]:
    deputies = {each.user_id for each in Deputy.objects.filter(team=team)}
    found = set()
    for each in _running():
        pair = {each.giver_id, each.receiver_id}
        if user.pk in pair and (each.team_id == team or pair & deputies):
            found |= {f"user:{one}" for one in pair - {user.pk}}
    return frozenset(found)
