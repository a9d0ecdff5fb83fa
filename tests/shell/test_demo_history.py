"""What `up --demo` leaves for an auditor, a privacy officer and an operator to find."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from agentstate.people.queries import person
from audit import holds, retention
from audit.erasure import State
from audit.models import ErasureRequest
from sessions.models.sessions import AccessLine, AgentSession
from sessions.privacy import erasure
from tests import cast
from tests.shell.bank_world import kinds

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])


@pytest.fixture
def past():
    cast.tenant()
    call_command("demo_accounts")
    call_command("demo_history")


def test_the_demo_has_an_erasure_a_hold_an_export_and_a_term_to_find(past, at_once):
    asked = ErasureRequest.objects.get()
    assert (asked.asked_by, asked.ruled_by) == (person("supervisor").actor, person("privacy").actor)
    assert erasure.carry_out_due() == 1
    former = AgentSession.objects.get(kid=asked.kid)
    assert (ErasureRequest.objects.get().state, former.card) == (State.DONE, b"")
    assert kinds(former.pk)[-1] == "session.sealed"
    assert holds.in_force().count() == 1
    assert [each.name for each in retention.schedule(asked.tenant).classes] == ["calls"]
    assert AccessLine.objects.filter(reader=person("supervisor").actor, kind="access.exported").count() == 1


def test_a_demo_with_a_past_gets_no_other(past):
    before = AgentSession.objects.count()
    call_command("demo_history")
    assert (AgentSession.objects.count(), ErasureRequest.objects.count()) == (before, 1)
