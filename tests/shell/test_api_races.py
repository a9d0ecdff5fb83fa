"""Two who decide at the same time, and a decision against its deadline: real threads on real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection

from agentstate import clock
from sessions.models.sessions import ApprovalRequest
from sessions.runtime import sweeper
from tests import cast
from tests.shell.api_world import Api, nothing_written, problem, waiting_request
from tests.shell.bank_world import events, kinds, work
from tests.shell.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 3


def deciding(api: Api, request: str, **body: object) -> Callable[[], object]:
    return lambda: api.post(f"/requests/{request}/decisions", {"decision": "approve", **body})


def session_of(request: str) -> UUID:
    return ApprovalRequest.objects.get(pk=request).session_id


def shift_deadline(request: str, **by: float) -> None:
    """Move a request's deadline, as the appending statement will see it, to now plus `by`, by PostgreSQL's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agent_sessions_approvalrequest SET expires_at = clock_timestamp() + %s WHERE id = %s",
            [timedelta(**by), request],
        )


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_of_two_who_decide_at_the_same_time_one_wins_and_the_other_reads_who_and_when(bank, _round: int) -> None:
    request, before = waiting_request(), len(bank.transfers("C-1001"))
    people = {"approve": cast.alice(), "reject": cast.bob()}
    answers = at_once(
        deciding(Api(people["approve"]), request),
        deciding(Api(people["reject"]), request, decision="reject", reason="no"),
    )
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    lost = problem(next(answer for answer in answers if answer.status_code == 409), 409, "already_decided")
    ended = ApprovalRequest.objects.get(pk=request)
    winner = people["approve" if ended.state == "approved" else "reject"]
    assert (lost["by"], lost["by_name"], lost["outcome"]) == (winner.actor, winner.display_name, ended.state)
    assert lost["at"].startswith(ended.ended_at.isoformat()[:26])
    work()
    assert kinds(ended.session_id).count("decision.made") == 1
    assert len(bank.transfers("C-1001")) == before + (ended.state == "approved")


def test_ten_decisions_of_one_person_at_the_same_time_are_one(bank) -> None:
    request, alice = waiting_request(), Api(cast.alice())
    answers = at_once(*[deciding(alice, request) for _ in range(10)])
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 9
    assert kinds(session_of(request)).count("decision.made") == 1


def test_the_same_key_ten_times_at_the_same_time_is_one_decision_and_ten_equal_answers(bank) -> None:
    request, alice = waiting_request(), Api(cast.alice())
    answers = at_once(*[deciding(alice, request, idempotency_key="once") for _ in range(10)])
    assert {(answer.status_code, answer.content) for answer in answers} == {(201, answers[0].content)}
    assert kinds(session_of(request)).count("decision.made") == 1


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_of_a_decision_and_the_end_of_the_conversation_exactly_one_ends_the_request(bank, _round: int) -> None:
    request, before = waiting_request(), len(bank.transfers("C-1001"))
    session = session_of(request)
    hang_up = Api(cast.cleo())
    decided, ended = at_once(
        deciding(Api(cast.alice()), request),
        lambda: hang_up.post(f"/sessions/{session}/end", {"reason": "hung up"}),
    )
    assert ended.status_code == 200
    outcomes = [event["outcome"] for event in events(session, "request.ended")]
    assert outcomes == (["approved"] if decided.status_code == 201 else ["withdrawn"])
    work()
    assert len(bank.transfers("C-1001")) - before <= (outcomes == ["approved"])


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_of_a_decision_and_its_deadline_exactly_one_counts_and_seq_says_which(bank, _round: int) -> None:
    request, alice = waiting_request(), Api(cast.alice())
    session = session_of(request)
    shift_deadline(request, milliseconds=12)

    def expire() -> bool:
        while not sweeper.expire(session, UUID(request)):
            if ApprovalRequest.objects.get(pk=request).state != "pending":
                return False
        return True

    decided, expired = at_once(deciding(alice, request), expire)
    outcomes = [event["outcome"] for event in events(session, "request.ended")]
    if decided.status_code == 201:
        assert (outcomes, expired) == (["approved"], False)
    else:
        assert problem(decided, 409)["code"] in ("request_expired", "already_decided")
        assert (outcomes, expired) == (["expired"], True)
    assert kinds(session).count("decision.made") == (decided.status_code == 201)


def test_a_decision_after_the_deadline_is_refused_though_nobody_has_expired_it_yet(bank) -> None:
    request, alice = waiting_request(), Api(cast.alice())
    shift_deadline(request, milliseconds=-1)
    with nothing_written():
        problem(alice.post(f"/requests/{request}/decisions", {"decision": "approve"}), 409, "request_expired")
    assert alice.get("/requests", state="pending").json()["requests"] == []
    assert not alice.get(f"/requests/{request}").json()["may_decide"]


@pytest.mark.parametrize("wrong_by", [timedelta(days=-2), timedelta(days=2)])
def test_the_deadline_is_judged_by_the_clock_of_the_database_not_of_this_process(bank, monkeypatch, wrong_by) -> None:
    late, in_time = waiting_request(), waiting_request("$1,300.00")
    shift_deadline(late, milliseconds=-1)
    right = clock.now
    for module in ("agentstate.clock", "sessions.core.commit"):
        monkeypatch.setattr(f"{module}.now", lambda: right() + wrong_by)
    alice = Api(cast.alice())
    problem(alice.post(f"/requests/{late}/decisions", {"decision": "approve"}), 409, "request_expired")
    assert alice.post(f"/requests/{in_time}/decisions", {"decision": "approve"}).status_code == 201


def test_an_expiry_before_the_deadline_appends_nothing_whatever_this_clock_says(bank, monkeypatch) -> None:
    request = waiting_request()
    right = clock.now
    monkeypatch.setattr("sessions.core.commit.now", lambda: right() + timedelta(days=30))
    with nothing_written():
        assert sweeper.expire_due() == 0
        assert not sweeper.expire(session_of(request), UUID(request))


def test_what_has_expired_is_409_with_when_and_by_nobody(bank) -> None:
    request, alice = waiting_request(), Api(cast.alice())
    shift_deadline(request, milliseconds=-1)
    assert sweeper.expire_due() == 1
    body = problem(alice.post(f"/requests/{request}/decisions", {"decision": "approve"}), 409, "already_decided")
    assert (body["outcome"], bool(body["at"]), body.get("by_name")) == ("expired", True, None)
    work()
    assert kinds(session_of(request)).count("tool.intended") == kinds(session_of(request)).count("tool.returned")
