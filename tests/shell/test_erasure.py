"""Erasing a data subject: asked for by one, approved by another, carried out to the end whoever is killed meanwhile."""

from __future__ import annotations

from uuid import UUID

import pytest

from agentstate.people.permissions import PermissionDenied
from audit import erasure, keys
from audit.erasure import State
from audit.models import ErasureRequest
from sessions import erasure as erasing
from sessions import states
from sessions.commands import erasure as commands
from sessions.models import AgentSession, ApprovalRequest
from sessions.stores import STORES
from tests import cast
from tests.shell.bank_world import CUSTOMER, kinds, opened, say

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])

WHY = "They asked by letter"


def asked(customer: str = CUSTOMER, **wishes) -> ErasureRequest:
    wishes = {
        "basis": "objection",
        "reason": WHY,
        **({"customer": customer} if "session" not in wishes else {}),
        **wishes,
    }
    return commands.ask_erasure(cast.petra(), **wishes)


def approved(customer: str = CUSTOMER) -> ErasureRequest:
    return commands.rule_erasure(cast.paul(), asked(customer).pk, State.APPROVED)


def kid_of(session: UUID) -> UUID:
    return AgentSession.objects.get(pk=session).kid


@pytest.fixture
def at_once(monkeypatch):
    """As if no process remembered a key any longer."""
    monkeypatch.setattr(keys, "CACHE_SECONDS", 0.0)


def test_who_asks_for_an_erasure_cannot_approve_it():
    opened()
    request = asked()
    with pytest.raises(erasure.FourEyes):
        commands.rule_erasure(cast.petra(), request.pk, State.APPROVED)
    with pytest.raises(PermissionDenied):
        commands.rule_erasure(cast.alice(), request.pk, State.APPROVED)
    assert commands.rule_erasure(cast.paul(), request.pk, State.APPROVED).ruled_by == cast.paul().actor


def test_nothing_is_erased_before_it_is_approved(at_once):
    session = opened()
    asked()
    assert erasing.carry_out_due() == 0
    assert states.load(session).state.opened.customer == CUSTOMER


def test_a_live_session_is_withdrawn_ended_sealed_and_erased(bank, at_once):
    session = opened()
    say(session, "Move $900.00 from savings to checking.")
    say(session, "Yes.")
    kid = kid_of(session)
    assert ApprovalRequest.objects.get(session=session).state == "pending"
    approved()
    assert erasing.carry_out_due() == 1
    assert kinds(session)[-4:] == ["request.ended", "session.ended", "subject.erased", "session.sealed"]
    assert ApprovalRequest.objects.get(session=session).state == "withdrawn"
    assert all(store.count(kid) == 0 for store in STORES)
    with pytest.raises(keys.Erased):
        states.load(session)
    assert ErasureRequest.objects.get().state == State.DONE
