"""Asks about approvals that need a database and other processes; the others are in core/test_asks_approvals.py."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models.functions import Now

from agentstate.engine import decide as core
from agentstate.errors import Refused
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.core import entry_lines, states
from sessions.core.commit import run_commands
from sessions.core.commit import step as commit_step
from sessions.models.sessions import AgentSession, Slot
from sessions.plans import commands as plans_commands
from sessions.runtime import leases
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds, opened, state, work
from tests.shell.test_pages import paused
from tests.shell.test_plans import FIRST, handed, step

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def request_id(bank) -> UUID:
    return paused()[1].id


def line(request: UUID) -> approvals_queries.RequestLine:
    return approvals_queries.request_line(cast.alice(), request)


def test_a_pause_is_in_the_database_and_another_process_resumes_it(bank, request_id):
    states.forget_all()
    approvals_commands.decide(
        cast.alice(), request_id, approvals_commands.Decision("approve", seen=line(request_id).digest)
    )
    states.forget_all()
    work()
    assert kinds(line(request_id).session).count("tool.returned") >= 1
    assert line(request_id).state == "approved"


def test_what_waits_for_a_person_pins_no_lease_and_no_worker(request_id):
    row = AgentSession.objects.get(pk=line(request_id).session)
    assert (row.lease_until, row.ready_at) == (None, None)


def test_the_queue_is_sorted_by_risk_and_then_by_the_nearest_deadline(request_id):
    paused("$3,000.00")
    tiers = [each.tier for each in approvals_queries.requests(cast.alice(), mine=True)]
    assert tiers == sorted(tiers, reverse=True)


def test_an_answer_outside_the_schema_is_refused_by_its_field(request_id):
    path = f"/requests/{request_id}/decisions"
    problem(Api(cast.alice()).post(path, {"decision": "maybe"}), 400, field="decision")
    problem(Api(cast.alice()).post(path, {"decision": "approve", "because": "so"}), 400)
    assert line(request_id).state == "pending"


def test_the_record_names_the_person_who_decided_and_when(request_id):
    approvals_commands.decide(
        cast.alice(), request_id, approvals_commands.Decision("reject", reason="a scam", seen=line(request_id).digest)
    )
    (made,) = events(line(request_id).session, "decision.made")
    assert made["by"] == cast.alice().actor
    told = next(
        each
        for each in entry_lines.entries(cast.bob(), line(request_id).session, limit=500)
        if each.kind == "decision.made"
    )
    assert told.actor == cast.alice().actor
    assert told.at


def test_a_decision_gives_a_receipt_that_can_be_held_against_us(request_id):
    body = {"decision": "approve", "seen": line(request_id).digest}
    answer = Api(cast.alice()).post(f"/requests/{request_id}/decisions", body)
    assert {"size", "root", "leaf"} <= set(answer.json())


def delegated() -> tuple[UUID, UUID]:
    """A session whose task is another session's, and in that one somebody must be asked."""
    named = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    calls = [step("act", "state.done", name="†input.name")]
    plans_commands.save_plan(cast.alice(), "careful", calls, inputs=named, output="†state.done.done")
    call = step(
        "wait", "state.answer || state.problem", name="†state.first.name", _delegate="careful", _scopes=["state.first"]
    )
    session = handed(FIRST, call)
    return session, UUID(events(session, "call.delegated")[0]["session"])


def asked_in(session: UUID) -> approvals_queries.RequestLine:
    """What the session asks of bob: alice, who handed the plan over, has proposed it."""
    (found,) = [each for each in approvals_queries.requests(cast.bob(), mine=True) if each.session == session]
    assert not [each for each in approvals_queries.requests(cast.alice(), mine=True) if each.session == session]
    return found


def test_what_a_delegate_asks_is_in_the_queue_and_its_parent_waits_and_then_goes_on():
    session, child = delegated()
    assert AgentSession.objects.get(pk=session).waiting_for == "delegate"
    request = asked_in(child)
    approvals_commands.decide(cast.bob(), request.id, approvals_commands.Decision("approve", seen=request.digest))
    work()
    assert state(session).pad["answer"]["output"] == "first"
    assert [event["request"] for event in events(child, "tool.intended")] == [str(request.id)]


def test_an_agent_that_is_used_as_a_tool_does_nothing_without_the_approval_that_it_needs():
    session, child = delegated()
    assert "tool.intended" not in kinds(child)
    request = asked_in(child)
    approvals_commands.decide(
        cast.bob(), request.id, approvals_commands.Decision("reject", reason="not like this", seen=request.digest)
    )
    work()
    assert "tool.intended" not in kinds(child)
    assert "answer" not in state(session).pad


def test_after_a_crash_no_ghost_of_a_run_blocks_the_queue_or_holds_a_place(bank):
    lost, other = opened(), opened("C-1002")
    conversation_commands.say(cast.cleo(), lost, "What is my balance?")
    lease = leases.claim()
    assert lease is not None
    assert lease.session == lost
    AgentSession.objects.filter(pk=lost).update(lease_until=Now() - timedelta(seconds=1))  # its worker is gone
    conversation_commands.say(cast.cleo(), other, "What is my balance?")
    work()
    rows = AgentSession.objects.filter(pk__in=[lost, other])
    assert [(row.lease_until, row.holder, row.waiting_for) for row in rows] == [(None, None, "customer")] * 2
    assert not Slot.objects.exists()
    with pytest.raises(Refused):
        run_commands(
            lease, [commit_step(core.Ask("ghost", "scripted", 0, 0, (), "digest"))]
        )  # the ghost itself commits nothing
