"""Idempotency keys: the same command again gets the first answer and is not carried out again."""

from __future__ import annotations

from typing import Any

import pytest

from tests import cast
from tests.shell.api_world import Api, new_session, nothing_written, problem, waiting_request
from tests.shell.bank_world import kinds, work
from tests.shell.together import at_once

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)
OPEN = {"customer": "C-1001", "agent": "bank", "channel": "phone", "topic": "t", "alias": "a", "idempotency_key": "k"}


def twice(api: Api, path: str, body: dict[str, Any]):
    """Ask the same twice; the second answer, which must be the first to the byte and have written nothing."""
    first = api.post(path, body)
    assert first.status_code in (200, 201)
    assert "Idempotency-Replayed" not in first
    with nothing_written():
        again = api.post(path, body)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again["Idempotency-Replayed"] == "true"
    return again


def test_a_session_is_opened_once() -> None:
    cleo = Api(cast.cleo())
    answer = twice(cleo, "/sessions", OPEN)
    assert answer["Location"].endswith(answer.json()["id"])
    assert len(cleo.get("/sessions").json()["sessions"]) == 1


@committed
def test_the_first_answer_stays_the_same_when_the_session_has_moved_on(bank) -> None:
    cleo = Api(cast.cleo())
    first = cleo.post("/sessions", OPEN)
    cleo.post(f"/sessions/{first.json()['id']}/messages", {"text": "What is my balance?"})
    work()
    moved_on = cleo.get(first["Location"]).json()
    assert (moved_on["seq"] > 5, moved_on["last_role"], moved_on["name"] != "C-1001") == (True, "agent", True)
    assert cleo.post("/sessions", OPEN).content == first.content


@pytest.mark.parametrize(
    "change", [{"customer": "C-1002"}, {"channel": "chat"}, {"topic": "u"}, {"topic": ""}, {"alias": "b"}]
)
def test_another_opening_under_the_same_key_is_409(change: dict[str, str]) -> None:
    cleo = Api(cast.cleo())
    assert cleo.post("/sessions", OPEN).status_code == 201
    with nothing_written():
        body = problem(cleo.post("/sessions", {**OPEN, **change}), 409, "idempotency_key_reused")
    assert body["remedy"]


def test_the_keys_of_two_callers_never_meet() -> None:
    other = cast.person("carl", cast.Role.CALLER, cast.retail())
    ids = {Api(person).post("/sessions", OPEN).json()["id"] for person in (cast.cleo(), other)}
    assert len(ids) == 2


def test_a_message_is_posted_once() -> None:
    session, cleo = new_session(), Api(cast.cleo())
    twice(cleo, f"/sessions/{session}/messages", {"text": "hello", "idempotency_key": "m1"})
    entries = cleo.get(f"/sessions/{session}/entries").json()["entries"]
    assert [entry["kind"] for entry in entries] == ["session.opened", "message.added", "chart.moved"]


def test_the_receipt_of_a_message_stays_the_same_when_others_followed() -> None:
    session, cleo = new_session(), Api(cast.cleo())
    body = {"text": "hello", "idempotency_key": "m1"}
    first = cleo.post(f"/sessions/{session}/messages", body)
    cleo.post(f"/sessions/{session}/messages", {"text": "and then"})
    cleo.post(f"/sessions/{session}/end", {"reason": "done"})
    with nothing_written():
        assert cleo.post(f"/sessions/{session}/messages", body).content == first.content


def test_without_a_key_the_same_message_is_said_twice() -> None:
    session, cleo = new_session(), Api(cast.cleo())
    receipts = [cleo.post(f"/sessions/{session}/messages", {"text": "hello"}).json()["first"] for _ in range(2)]
    assert receipts == [1, 3]  # the first one begins the chart as well


def test_a_session_is_ended_once() -> None:
    session, cleo = new_session(), Api(cast.cleo())
    twice(cleo, f"/sessions/{session}/end", {"reason": "hung up", "idempotency_key": "e1"})
    problem(cleo.post(f"/sessions/{session}/end", {"reason": "hung up"}), 409, "session_over")


def test_another_command_under_the_same_key_is_409() -> None:
    session, cleo = new_session(), Api(cast.cleo())
    cleo.post(f"/sessions/{session}/messages", {"text": "hello", "idempotency_key": "k"})
    with nothing_written():
        for path, body in {"messages": {"text": "Hello"}, "end": {"reason": "hello"}}.items():
            answer = cleo.post(f"/sessions/{session}/{path}", {**body, "idempotency_key": "k"})
            problem(answer, 409, "idempotency_key_reused")


def test_a_key_is_of_one_session() -> None:
    cleo = Api(cast.cleo())
    for session in (new_session(), new_session()):
        assert cleo.post(f"/sessions/{session}/messages", {"text": "x", "idempotency_key": "k"}).status_code == 201


def test_a_refused_command_leaves_its_key_free() -> None:
    session, cleo = new_session(), Api(cast.cleo())
    problem(cleo.post(f"/sessions/{session}/messages", {"text": " ", "idempotency_key": "k"}), 400)
    assert cleo.post(f"/sessions/{session}/messages", {"text": "x", "idempotency_key": "k"}).status_code == 201


@committed
def test_a_request_is_decided_once_and_the_answer_given_again(bank) -> None:
    request, alice = waiting_request(), Api(cast.alice())
    before = len(bank.transfers("C-1001"))
    path, body = f"/requests/{request}/decisions", {"decision": "approve", "reason": "ok", "idempotency_key": "d1"}
    session = twice(alice, path, body).json()["session"]
    work()
    assert alice.post(path, body)["Idempotency-Replayed"] == "true"
    work()
    assert kinds(session).count("decision.made") == 1
    assert len(bank.transfers("C-1001")) == before + 1
    with nothing_written():
        other = {"decision": "reject", "reason": "no", "idempotency_key": "d1"}
        problem(alice.post(path, other), 409, "idempotency_key_reused")
        problem(alice.post(path, {**body, "reason": "why"}), 409, "idempotency_key_reused")


@committed
def test_eight_openings_under_one_key_at_once_are_one_session() -> None:
    """Real threads on real PostgreSQL, as when a client's retry overtakes its first try."""
    cleo = Api(cast.cleo())
    answers = at_once(*[lambda: cleo.post("/sessions", OPEN)] * 8)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotency-Replayed" not in answer for answer in answers) == 1
