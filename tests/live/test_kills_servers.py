"""kill -9 of Valkey, PostgreSQL, Daphne and `up` itself in the middle of a transfer: all goes on by itself, once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.live.floor import Call, Floor, within
from tests.processes import eventually, is_alive, is_stopped

NAMES = ("valkey", "hang", "postgres", "postgres in a transfer", "web", "web after commit", "wake-up", "announcement",
         "answer", "up")  # fmt: skip


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floor]:
    held = Floor(tmp_path_factory.mktemp("kills") / "state")
    yield held
    held.stop()


@pytest.fixture(scope="module")
def waiting(floor: Floor) -> dict[str, Call]:
    """For each test a call whose transfer waits for the supervisor."""
    return dict(zip(NAMES, floor.waiting_calls(*[700 + 10 * n for n in range(len(NAMES))]), strict=True))


def test_a_decision_commits_without_valkey_and_is_executed_when_it_is_back(floor: Floor, waiting: dict[str, Call]):
    call = waiting["valkey"]
    page = floor.watch(call)
    eventually(lambda: page.seen >= 0, 30, "the page watches")
    request = call.request["id"]
    with floor.unattended():
        floor.valkey().flushall()
        floor.kill("valkey")
        body = {"decision": "approve"}
        assert floor.staff.once("POST", f"/requests/{request}/decisions", body).status_code == 201
        assert floor.customers.once("POST", f"/sessions/{call.id}/messages", {"text": "Hello?"}).status_code == 201
        assert call.moved() == []
    print(f"valkey flushed and killed: finished {call.finishes():.1f} s after it could be started again")
    assert call.moved() == [call.dollars]
    seq = call.view["seq"]
    print(f"the page knew {within(30, lambda: page.seen >= seq, 'the page sees the truth'):.1f} s later")
    page.close()


def test_a_valkey_that_hangs_holds_up_no_decision(floor: Floor, waiting: dict[str, Call]):
    call = waiting["hang"]
    request, valkey = call.request["id"], floor.up.pid("valkey")
    os.kill(valkey, signal.SIGSTOP)
    try:
        answer = floor.staff.once("POST", f"/requests/{request}/decisions", {"decision": "approve"})
        assert answer.status_code == 201
        assert is_stopped(valkey), "the decision did not wait for Valkey"
    finally:
        os.kill(valkey, signal.SIGCONT)
    call.finishes()
    assert call.moved() == [call.dollars]


def test_without_postgres_requests_are_refused_in_words_and_all_goes_on_when_it_is_back(
    floor: Floor, waiting: dict[str, Call]
):
    call = waiting["postgres"]
    request = call.request["id"]
    with floor.unattended():
        floor.kill("postgres")
        answer = floor.staff.once("POST", f"/requests/{request}/decisions", {"decision": "approve"})
        assert answer.status_code == 503
        assert answer.headers["content-type"].startswith("application/problem+json")
        assert answer.json()["status"] == 503
        assert "Traceback" not in answer.text
    began = time.monotonic()
    call.approve()
    call.finishes()
    print(f"postgres killed: decided and finished {time.monotonic() - began:.1f} s after it could be started again")
    assert call.moved() == [call.dollars]


def test_postgres_killed_between_effect_and_result_moves_the_money_once(floor: Floor, waiting: dict[str, Call]):
    call, worker = waiting["postgres in a transfer"], floor.up.pid("worker")
    armed = floor.arm("after_effect:transfer STOP")
    call.approve()
    eventually(lambda: not armed.exists() and is_stopped(worker), 30, "the worker has moved the money")
    deaths = floor.up.said.count("postgres died")
    with floor.stuck_backend():
        floor.up.kill("postgres")
        os.kill(worker, signal.SIGCONT)
        floor.staff.ask("GET", f"/sessions/{call.id}")
    assert floor.up.said.count("postgres died") == deaths + 1, "no start failed because of the old one's backends"
    print(f"postgres killed in the middle: finished {call.finishes():.1f} s later")
    assert call.moved() == [call.dollars]
    assert call.transfer_entries().count("tool.returned") == 1


def test_a_page_outlives_daphne_and_sees_what_happened_meanwhile(floor: Floor, waiting: dict[str, Call]):
    call = waiting["web"]
    page = floor.watch(call)
    eventually(lambda: page.seen >= 0, 30, "the page watches")
    lines, worker = page.lines, floor.up.pid("worker")
    armed = floor.arm("after_intent:transfer STOP")
    call.approve()
    eventually(lambda: not armed.exists() and is_stopped(worker), 30, "the worker is in the middle")
    floor.up.kill("web")
    os.kill(worker, signal.SIGCONT)
    call.finishes()
    seq = call.view["seq"]
    eventually(lambda: page.lines > lines and page.seen >= seq, 30, "the page connects again and sees the truth")
    page.close()
    assert call.moved() == [call.dollars]


def test_daphne_killed_after_the_commit_has_lost_answer_wake_up_and_announcement_and_nothing_is_missing(
    floor: Floor, waiting: dict[str, Call]
):
    call = waiting["web after commit"]
    before = call.view["seq"]
    armed = floor.arm("after_commit:decision.made")
    call.approve()  # tries again under the same key until it is answered
    assert not armed.exists()
    print(f"web killed after its commit: finished {call.finishes():.1f} s after the second answer")
    assert [entry["kind"] for entry in call.entries()][before:].count("decision.made") == 1
    assert call.moved() == [call.dollars]


def test_a_lost_wake_up_is_made_up_for_by_the_sweeper(floor: Floor, waiting: dict[str, Call]):
    call, worker = waiting["wake-up"], floor.up.pid("worker")
    queue = floor.valkey()
    os.kill(worker, signal.SIGSTOP)
    try:
        eventually(lambda: queue.llen("agentstate") > 0, 20, "nobody takes messages any more")
        call.approve()
        time.sleep(0.5)  # for the wake-up, which is sent by a thread of its own
        queue.delete("agentstate")
    finally:
        os.kill(worker, signal.SIGCONT)
    print(f"wake-up lost: finished {call.finishes():.1f} s later")
    assert call.moved() == [call.dollars]


def test_a_lost_announcement_is_sent_again_from_the_outbox(floor: Floor, waiting: dict[str, Call]):
    call = waiting["announcement"]
    page = floor.watch(call)
    eventually(lambda: page.seen >= 0, 30, "the page watches")
    lines = page.lines
    armed = floor.arm("after_commit:tool.intended")
    call.approve()
    eventually(lambda: not armed.exists(), 30, "the worker dies before it tells anybody")
    seq = call.view["seq"]
    print(f"announcement lost: the page knew {within(30, lambda: page.seen >= seq, 'told again'):.1f} s later")
    call.finishes()
    assert page.lines == lines
    page.close()
    assert call.moved() == [call.dollars]


def test_an_answer_of_the_model_that_died_with_its_worker_is_asked_for_again_and_said_once(
    floor: Floor, waiting: dict[str, Call]
):
    call, worker = waiting["answer"], floor.up.pid("worker")
    armed = floor.arm("after_model")
    call.approve()
    eventually(lambda: not armed.exists() and not is_alive(worker), 30, "the worker dies with the answer")
    call.finishes()
    said = [entry["data"] for entry in call.entries("message.added")]
    assert sum(1 for each in said if each["role"] == "agent" and "receipt" in each["text"]) == 1
    assert call.moved() == [call.dollars]


def test_the_next_up_finishes_what_a_killed_one_left(floor: Floor, waiting: dict[str, Call]):
    call, worker = waiting["up"], floor.up.pid("worker")
    armed = floor.arm("after_effect:transfer STOP")
    call.approve()
    eventually(lambda: not armed.exists() and is_stopped(worker), 30, "the worker has moved the money")
    assert floor.up.stop(signal.SIGKILL) == -signal.SIGKILL
    floor.start()
    print(f"up killed: finished {call.finishes():.1f} s after the next was ready")
    assert call.moved() == [call.dollars]
    assert call.transfer_entries() == ["tool.intended", "tool.intended", "tool.returned"]


def test_afterwards_projections_fold_and_every_export_verifies(floor: Floor, waiting: dict[str, Call]):
    assert {call.view["waiting_for"] for call in waiting.values()} == {"customer"}
    floor.all_is_well()
