"""Claims: who is on a request, until when by the database's clock, and what becomes of it when a colleague comes."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection

from agentstate.engine.decide import AlreadyDecided, ClaimedByOther, DecisionNotAllowed, NotYours, UnknownRequest
from sessions.approvals import claims as approvals_claims
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.models.sessions import ApprovalRequest
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds
from tests.shell.test_pages import paused
from tests.shell.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def request_id(bank) -> UUID:
    return paused()[1].id


def run_out(request: UUID) -> None:
    """The lease's two minutes are over, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agent_sessions_approvalrequest SET claimed_until = clock_timestamp() - interval '1 ms'"
            " WHERE id = %s",
            [request],
        )


def on_it(request: UUID) -> str:
    return approvals_queries.request_line(cast.bob(), request).claimed_by


def session_of(request: UUID) -> UUID:
    return ApprovalRequest.objects.get(pk=request).session_id


def test_a_claim_says_who_is_on_it_and_ends_by_itself_without_an_entry(request_id):
    approvals_claims.claim(cast.alice(), request_id)
    assert on_it(request_id) == cast.alice().actor
    before = kinds(session_of(request_id))
    run_out(request_id)
    assert on_it(request_id) == ""
    assert kinds(session_of(request_id)) == before
    assert rebuild.check(session_of(request_id)) == []


def test_a_heartbeat_moves_the_end_and_is_no_entry(request_id):
    approvals_claims.claim(cast.alice(), request_id)
    before = kinds(session_of(request_id)), ApprovalRequest.objects.get(pk=request_id).claimed_until
    until = approvals_claims.keep(cast.alice(), request_id)
    approvals_claims.claim(cast.alice(), request_id)
    assert until > before[1]
    assert kinds(session_of(request_id)) == before[0]


def test_a_claim_that_has_run_out_is_not_kept_but_claimed_anew(request_id):
    approvals_claims.claim(cast.alice(), request_id)
    run_out(request_id)
    with pytest.raises(NotYours):
        approvals_claims.keep(cast.alice(), request_id)
    approvals_claims.claim(cast.alice(), request_id)
    assert on_it(request_id) == cast.alice().actor
    assert len(events(session_of(request_id), "request.claimed")) == 2


def test_a_colleague_is_told_who_is_on_it_and_taking_it_is_recorded_from_whom(request_id):
    approvals_claims.claim(cast.alice(), request_id)
    with pytest.raises(ClaimedByOther) as refused:
        approvals_claims.claim(cast.bob(), request_id)
    assert refused.value.facts["by"] == cast.alice().actor
    approvals_claims.claim(cast.bob(), request_id, take=True)
    taken = events(session_of(request_id), "request.claimed")[-1]
    assert (taken["by"], taken["taken_from"]) == (cast.bob().actor, cast.alice().actor)
    with pytest.raises(NotYours):
        approvals_claims.keep(cast.alice(), request_id)


def test_what_has_run_out_is_claimed_by_a_colleague_and_taken_from_nobody(request_id):
    approvals_claims.claim(cast.alice(), request_id)
    run_out(request_id)
    approvals_claims.claim(cast.bob(), request_id)
    assert events(session_of(request_id), "request.claimed")[-1]["taken_from"] == ""


def test_of_five_who_claim_at_the_same_time_one_is_on_it(request_id):
    people = [cast.person(name, cast.Role.SUPERVISOR, cast.retail()) for name in ("p1", "p2", "p3", "p4", "p5")]

    def claims(user) -> str:
        try:
            approvals_claims.claim(user, request_id)
        except ClaimedByOther as refused:
            return str(refused.facts["by"])
        return "me"

    said = at_once(*[lambda user=user: claims(user) for user in people])
    winner = people[said.index("me")].actor
    assert sorted(said) == sorted(["me", *[winner] * 4])
    assert on_it(request_id) == winner
    assert len(events(session_of(request_id), "request.claimed")) == 1


def test_a_claim_of_a_colleague_does_not_forbid_to_decide_and_ends_with_the_request(request_id):
    approvals_claims.claim(cast.alice(), request_id)
    seen = approvals_queries.request_line(cast.bob(), request_id).digest
    approvals_commands.decide(cast.bob(), request_id, approvals_commands.Decision("approve", seen=seen))
    assert on_it(request_id) == ""
    with pytest.raises(AlreadyDecided):
        approvals_claims.claim(cast.alice(), request_id)
    assert rebuild.check(session_of(request_id)) == []


def test_only_who_is_on_it_gives_it_back(request_id):
    approvals_claims.claim(cast.alice(), request_id)
    with pytest.raises(NotYours):
        approvals_claims.release(cast.bob(), request_id)
    approvals_claims.release(cast.alice(), request_id)
    assert on_it(request_id) == ""
    assert kinds(session_of(request_id))[-1] == "request.released"


def test_who_may_not_decide_claims_nothing(request_id):
    with pytest.raises(DecisionNotAllowed):
        approvals_claims.claim(cast.vera(), request_id)
    with pytest.raises(UnknownRequest):
        approvals_claims.claim(cast.charlie(), request_id)


def test_over_the_api_a_claim_is_made_kept_taken_and_given_back(request_id):
    alice, bob, path = Api(cast.alice()), Api(cast.bob()), f"/requests/{request_id}/claim"
    assert alice.post(path, {"idempotency_key": "k"}).status_code == 201
    assert alice.post(path, {"idempotency_key": "k"})["Idempotency-Replayed"] == "true"
    shown = bob.get(f"/requests/{request_id}").json()
    assert shown["claimed_by"] == cast.alice().actor
    kept = alice.ask("PUT", path, data=b"{}").json()["until"]
    assert kept > shown["claimed_until"]
    assert problem(bob.post(path, {}), 409, "claimed_by_other")["by"] == cast.alice().actor
    assert bob.post(path, {"take": True}).status_code == 201
    problem(alice.ask("PUT", path, data=b"{}"), 409, "not_yours")
    problem(alice.ask("DELETE", path), 409, "not_yours")
    assert bob.ask("DELETE", path).status_code == 200
    assert bob.get(f"/requests/{request_id}").json()["claimed_by"] == ""


def test_what_a_page_claims_by_itself_and_too_late_is_no_error_and_what_a_person_claims_is_refused(request_id):
    approvals_claims.claim(cast.alice(), request_id)
    bob, address = cast.browser(cast.bob()), f"/decisions/{request_id}"
    script = {"accept": "application/json"}
    for sent, status in (({"unasked": "yes"}, 200), ({}, 409)):
        answers = [bob.post(f"{address}/{act}/", sent, headers=script) for act in ("claim", "keep")]
        assert [(each.status_code, each.json()["code"]) for each in answers] == [
            (status, "claimed_by_other"),
            (status, "not_yours"),
        ]
    taken = bob.post(f"{address}/release/", {"unasked": "yes"}, headers=script)
    assert (taken.status_code, on_it(request_id)) == (409, cast.alice().actor)
