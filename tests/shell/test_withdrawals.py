"""What was approved and is not done says so: on its request at every door, to who approved it, in the rows."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.urls import reverse

from audit import ledger
from sessions.approvals import queries as approvals_queries
from sessions.automation.notifications import queries as told
from sessions.automation.notifications import repository as keeping
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import ApprovalRequest
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds, work
from tests.shell.notice_world import tell
from tests.shell.test_terms import asking, decide, line, moved, session_of  # noqa: F401  (fixture, helpers)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def approved(asking):  # noqa: F811
    """The request of a transfer that alice approved and that has not begun."""
    request = asking()
    decide(cast.alice(), request)
    return request


def test_the_request_says_at_every_door_that_the_customer_hung_up_before_it_was_done(approved, bank, client):
    before, session = moved(bank), session_of(approved)
    conversation_commands.end(cast.cleo(), session, "hung up")
    work()
    assert moved(bank) == before
    assert "tool.intended" not in kinds(session)[-4:]
    (withdrawn,) = events(session, "call.withdrawn")
    assert (withdrawn["request"], withdrawn["approved_by"]) == (str(approved), [cast.alice().actor])
    found = line(approved)
    assert (found.state, found.execution) == ("approved", "withdrawn")
    assert found.because == "the conversation ended: hung up"
    assert rebuild.check(session) == []
    client.force_login(cast.alice())
    page = client.get(reverse("decision", args=[approved])).content.decode()
    assert "Approved, not done" in page
    assert "The conversation ended: hung up" in page
    assert "Approved, not done" in client.get(reverse("decisions") + "?view=decided").content.decode()
    assert "Approved, not done" in client.get(reverse("session", args=[session])).content.decode()
    answer = Api(cast.alice()).get(f"/requests/{approved}").json()
    assert (answer["execution"], answer["because"]) == ("withdrawn", "the conversation ended: hung up")


def test_the_request_says_that_a_rollback_withdrew_its_call(approved, bank):
    session = session_of(approved)
    shown = versions_queries.rollback_preview(cast.alice(), session, 2)
    assert shown.not_begun == (events(session, "approval.requested")[-1]["call"],)
    versions_commands.roll_back(cast.alice(), session, 2, seen=shown.digest, reason="it misheard")
    found = line(approved)
    assert (found.state, found.execution, found.because) == (
        "approved",
        "withdrawn",
        "the session was put back to entry 2",
    )
    assert rebuild.check(session) == []


def test_the_account_that_speaks_for_the_customer_does_not_approve_what_it_asked_for(asking):  # noqa: F811
    request = asking()
    assert events(session_of(request), "message.added")[0]["by"] == cast.cleo().actor
    assert cast.cleo().actor in ApprovalRequest.objects.get(pk=request).excluded


def test_a_message_writes_the_row_of_a_waiting_request_only_when_it_leaves_another_person_out(asking):  # noqa: F811
    request = asking()
    session, written = session_of(request), _version(request)
    conversation_commands.say(cast.cleo(), session, "Are you still there?")
    assert _version(request) == written
    clara = cast.person("clara", cast.Role.CALLER, cast.retail())
    conversation_commands.say(clara, session, "I am his wife")
    assert _version(request) != written
    assert clara.actor in ApprovalRequest.objects.get(pk=request).excluded
    assert rebuild.check(session) == []


def _version(request: UUID) -> int:
    """The transaction that last wrote the request's row."""
    query = "SELECT xmin::text FROM agent_sessions_approvalrequest WHERE id = %(id)s"
    [(version,)] = ledger.run(query, {"id": request})
    return int(version)


def test_who_approved_it_is_told_and_nobody_else(approved, bank):
    team = cast.retail()
    keeping.take_shipped(team.tenant_id, team.pk, cast.adam().actor)
    sue = cast.person("sue", cast.Role.SUPERVISOR, cast.retail())
    conversation_commands.cancel(sue, session_of(approved), "a scam")
    tell()
    (notice,) = [each for each in told.notices(cast.alice()) if each.kind == "call.withdrawn"]
    assert notice.title == "Approved, not done: tier 2, transfer"
    assert not [each for each in told.notices(sue) if each.kind == "call.withdrawn"]


def test_an_approved_call_is_withdrawn_by_a_form_and_by_the_api(approved, asking, bank, client):  # noqa: F811
    before = moved(bank)
    client.force_login(cast.alice())
    page = client.get(reverse("decision", args=[approved])).content.decode()
    assert "Withdraw call" in page
    sent = client.post(reverse("decision_act", args=[approved, "withdraw"]), {"reason": "she changed her mind"})
    assert sent.status_code == 302
    assert (line(approved).execution, line(approved).because) == ("withdrawn", "she changed her mind")
    assert "Withdraw call" not in client.get(reverse("decision", args=[approved])).content.decode()
    request = asking()
    session, why = session_of(request), {"request": str(request), "reason": "not wanted"}
    problem(Api(cast.vera()).post(f"/sessions/{session}/withdrawals", why), 403)
    problem(Api(cast.alice()).post(f"/sessions/{session}/withdrawals", {"reason": "which?"}), 400, field="call")
    assert Api(cast.alice()).post(f"/sessions/{session}/withdrawals", why).status_code == 201
    assert line(request).state == "withdrawn"
    problem(Api(cast.alice()).post(f"/sessions/{session}/withdrawals", why), 409, "not_open_to_withdrawal")
    work()
    assert moved(bank) == before


def test_of_two_plans_the_second_is_refused_and_says_what_to_do(approved, bank):
    """The approval and another plan, in either order: nothing that was answered with 201 is dropped."""
    session, api = session_of(approved), Api(cast.alice())
    load = {"_tool": "load_customer", "customer": "C-1001", "_outputPath": "state.customer"}
    pay = {**load, "_id": "again"}
    assert api.post(f"/sessions/{session}/plans", {"calls": [load]}).status_code == 201
    refused = problem(api.post(f"/sessions/{session}/plans", {"calls": [pay]}), 409, "plan_under_way")
    assert "replaces" in str(refused)
    before = len(moved(bank))
    work()
    assert len(moved(bank)) == before + 1
    assert line(approved).execution == "done"


def test_a_request_says_what_came_of_its_call(approved, bank):
    assert line(approved).execution == "waiting"
    work()
    assert line(approved).execution == "done"
    assert ApprovalRequest.objects.get(pk=approved).execution == "done"
    assert rebuild.check(session_of(approved)) == []
    assert approvals_queries.decided(cast.alice())[0].execution == "done"
