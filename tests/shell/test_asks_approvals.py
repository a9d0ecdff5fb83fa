"""Asks about approvals that need a database and other processes; the others are in core/test_asks_approvals.py."""

from __future__ import annotations

from uuid import UUID

import pytest

from sessions import commands, queries, states
from sessions.models import AgentSession
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds, work
from tests.shell.test_pages import paused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def request_id(bank) -> UUID:
    return paused()[1].id


def line(request: UUID) -> queries.RequestLine:
    return queries.request_line(cast.alice(), request)


def test_a_pause_is_in_the_database_and_another_process_resumes_it(bank, request_id):
    states.forget_all()
    commands.decide(cast.alice(), request_id, "approve", seen=line(request_id).digest)
    states.forget_all()
    work()
    assert kinds(line(request_id).session).count("tool.returned") >= 1
    assert line(request_id).state == "approved"


def test_what_waits_for_a_person_pins_no_lease_and_no_worker(request_id):
    row = AgentSession.objects.get(pk=line(request_id).session)
    assert (row.lease_until, row.ready_at) == (None, None)


def test_the_queue_is_sorted_by_risk_and_then_by_the_nearest_deadline(request_id):
    paused("$3,000.00")
    tiers = [each.tier for each in queries.requests(cast.alice(), mine=True)]
    assert tiers == sorted(tiers, reverse=True)


def test_an_answer_outside_the_schema_is_refused_by_its_field(request_id):
    path = f"/requests/{request_id}/decisions"
    problem(Api(cast.alice()).post(path, {"decision": "maybe"}), 400, field="decision")
    problem(Api(cast.alice()).post(path, {"decision": "approve", "because": "so"}), 400)
    assert line(request_id).state == "pending"


def test_the_record_names_the_person_who_decided_and_when(request_id):
    commands.decide(cast.alice(), request_id, "reject", reason="a scam", seen=line(request_id).digest)
    (made,) = events(line(request_id).session, "decision.made")
    assert made["by"] == cast.alice().actor
    told = next(
        each
        for each in queries.entries(cast.bob(), line(request_id).session, limit=500)
        if each.kind == "decision.made"
    )
    assert told.actor == cast.alice().actor
    assert told.at


def test_a_decision_gives_a_receipt_that_can_be_held_against_us(request_id):
    body = {"decision": "approve", "seen": line(request_id).digest}
    answer = Api(cast.alice()).post(f"/requests/{request_id}/decisions", body)
    assert {"size", "root", "leaf"} <= set(answer.json())
