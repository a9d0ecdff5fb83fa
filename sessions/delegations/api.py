"""Delegations of authority: lend a colleague your right to decide, see what runs, take it back."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from agentstate.errors import Invalid
from agentstate.people import delegations, reasons
from agentstate.people.models import Delegation, Team, User
from sessions.delegations import schemas as forms
from sessions.http.answers import filled
from sessions.http.operations import READING, delete, get, post
from sessions.http.parameters import MOST, Id


@get()
def list_delegations(user: User) -> forms.DelegationList:
    """What you gave and were given, and what runs in teams you configure, newest first; 500 at most."""
    rows = reasons.with_keys(delegations.known_to(user)[:MOST])
    return forms.DelegationList([_line(each) for each in rows])


@post()
def give_delegation(user: User, body: forms.GiveDelegation) -> forms.Delegation:
    """Lend a colleague your right to decide in a team, until an instant. They cannot lend it on."""
    receiver = User.objects.filter(pk=body.receiver, is_active=True).first()
    team = Team.objects.filter(pk=body.team).first()
    if receiver is None or team is None:
        raise Invalid("there is no such person or team", field="receiver" if receiver is None else "team")
    given = delegations.give(user, receiver, team, permissions=body.permissions, until=body.until, reason=body.reason)
    return _line(given)


@delete(codes=READING)
def revoke_delegation(user: User, delegation: Annotated[UUID, Id(delegations.UnknownDelegation)]) -> forms.Delegation:
    """Take a delegation back, or give back one of yours: it is worth nothing from now on."""
    return _line(delegations.revoke(delegation, user))


def _line(each: Delegation) -> forms.Delegation:
    return filled(forms.Delegation, each, giver=each.giver_id, receiver=each.receiver_id, team=each.team_id)
