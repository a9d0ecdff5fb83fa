"""Recorded runs of a real model at an airline, as live sessions through the public API: each writing call waits for a
person, and exactly those that the recording's gold labels do not hold are rejected.

A few in `make test`, all 140 in `make test-all`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests import cast
from tests.searching import FULL
from tests.shell.airline_world import (
    AGENT,
    WRITES,
    Figures,
    Recorded,
    airline,
    calls_of,
    gold_of,
    key,
    named,
    runs,
    words,
)
from tests.shell.api_world import Api
from tests.shell.bank_world import work

pytestmark = pytest.mark.django_db(transaction=True)
SOME = 5  # runs


class Desk:
    """The customer's program and the supervisor's, over the API."""

    def __init__(self) -> None:
        self.caller, self.supervisor = Api(cast.cleo()), Api(cast.alice())

    def opened(self, customer: str) -> str:
        body = {"customer": customer, "agent": AGENT, "channel": "chat"}
        return str(self.caller.post("/sessions", body).json()["id"])

    def say(self, session: str, text: str) -> None:
        assert self.caller.post(f"/sessions/{session}/messages", {"text": text}).status_code == 201
        work()

    def waiting(self, session: str) -> list[dict[str, Any]]:
        lines = self.supervisor.get("/requests", state="pending").json()["requests"]
        return [line for line in lines if line["session"] == session]

    def decide(self, request: str, decision: str) -> None:
        body = {"decision": decision, "reason": "as the labels say"}
        answer = self.supervisor.post(f"/requests/{request}/decisions", body)
        assert answer.status_code == 201, answer.content
        work()

    def entries(self, session: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while page := self.supervisor.get(
            f"/sessions/{session}/entries", after=found[-1]["seq"] if found else -1, limit=500
        ).json()["entries"]:
            found += page
        return found


def replayed(desk: Desk, model: Recorded, run: dict[str, Any], figures: Figures) -> str:
    """The recording from its first message to its last, decided as its gold labels say."""
    model.play(run)
    session, gold = desk.opened(named(run)), gold_of(run)
    for text in words(run):
        desk.say(session, text)
        while waits := desk.waiting(session):
            for line in waits:
                call = key(line["tool"], line["arguments"])
                right = gold[call] > 0
                gold[call] -= right
                desk.decide(line["id"], "approve" if right else "reject")
                figures.approved += right
                figures.rejected += not right
    figures.runs += 1
    return session


def held(desk: Desk, session: str, run: dict[str, Any], figures: Figures) -> None:
    """The same calls in the same order; what was executed is all that reads, and of what writes what is right."""
    entries = desk.entries(session)
    proposed = [
        key(call["tool"], call["arguments"])
        for entry in entries
        if entry["kind"] == "model.answered"
        for call in entry["data"]["calls"]
    ]
    assert proposed == calls_of(run)
    figures.calls += len(proposed)
    executed = Counter(
        key(entry["data"]["tool"], entry["data"]["arguments"]) for entry in entries if entry["kind"] == "tool.intended"
    )
    written = Counter({call: count for call, count in executed.items() if call[0] in WRITES})
    wanted = Counter(call for call in calls_of(run) if call[0] in WRITES)
    assert written == wanted & gold_of(run)
    assert executed - written == Counter(call for call in calls_of(run) if call[0] not in WRITES)
    codes = [entry["data"]["code"] for entry in entries if entry["kind"] == "call.refused"]
    assert set(codes) <= {"refused_before"}
    figures.again += len(codes)


def replay(capsys: pytest.CaptureFixture[str], chosen: list[dict[str, Any]]) -> Figures:
    """The figures of these runs, printed."""
    desk, figures = Desk(), Figures()
    with airline() as model:
        for run in chosen:
            held(desk, replayed(desk, model, run, figures), run, figures)
    with capsys.disabled():
        print(f"\nairline, live: {figures}")
    return figures


def test_recorded_runs_go_live_with_a_person_at_every_writing_call(capsys):
    figures = replay(capsys, runs()[:SOME])
    assert (figures.runs, figures.rejected > 0) == (SOME, True)


@pytest.mark.long
def test_all_recorded_runs_go_live(capsys):
    figures = replay(capsys, runs() if FULL else runs()[SOME : 2 * SOME])
    assert figures.approved
