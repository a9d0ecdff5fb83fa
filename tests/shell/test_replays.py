"""What would have happened to a real session: over the API, on its page, and with a model that is asked."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from audit import ledger
from sessions.core import entry_lines
from sessions.core.states import UnknownSession
from sessions.library import policies
from sessions.versions import replays
from sessions.versions.replays import TooLongToReplay
from tests import cast
from tests.shell.api_world import Api, nothing_written, problem
from tests.shell.test_versions import moved

pytestmark = pytest.mark.django_db(transaction=True)

STRICT = {
    "name": "strict",
    "version": 1,
    "rules": [
        {"name": "all", "tools": ["transfer"], "when": "true", "tier": 3, "gate": "approve", "why": "x", "quorum": 2}
    ],
}


@contextmanager
def nothing_done_in(session):
    """Fail when the session's log moved. That somebody looked is on the record, in another log."""
    before = ledger.read_head(session)
    yield
    assert ledger.read_head(session) == before


def test_a_stricter_policy_would_have_asked_two_people(bank):
    session, alice = moved(), cast.alice()
    with nothing_done_in(session):
        line = replays.replayed(alice, session, policy=STRICT)
    (sentence,) = [each for each in line.sentences if each.startswith("Transfer at entry")]
    assert "2 people asked (tier 3, rule all), was let through (tier 1, rule transfer.small)" in sentence
    assert len(bank.transfers("C-1001")) == 1


def test_under_todays_policy_nothing_differs(bank):
    line = replays.replayed(cast.alice(), moved())
    assert line.policy == policies.named("bank").reference
    assert (line.differing, line.found.left_out, line.sentences) == ([], {}, [])


def test_over_the_api_with_other_inputs(bank):
    session, api = moved(), Api(cast.alice())
    allowed = next(
        line.seq
        for line in entry_lines.entries(cast.alice(), session, limit=500)
        if line.kind == "tool.returned" and (line.data or {})["result"].get("allowed")
    )
    body = {"inputs": [{"seq": allowed, "result": {"allowed": False}}], "assume": "reject"}
    with nothing_done_in(session):
        found = api.post(f"/sessions/{session}/replay", body).json()
    assert found["from_seq"] == allowed
    assert [call["tool"] for call in found["calls"]] == ["transfer"]
    problem(api.post(f"/sessions/{session}/replay", {"inputs": [{"seq": 0, "text": "x"}]}), 400, "bad_input")
    problem(api.post(f"/sessions/{session}/replay", {"policy": {"name": "x"}}), 400, "bad_policy")
    problem(api.post(f"/sessions/{session}/replay", {"assume": "maybe"}), 400)


def test_who_may_not_see_a_session_replays_nothing(bank, monkeypatch):
    session = moved()
    with pytest.raises(UnknownSession):
        replays.replayed(cast.charlie(), session)
    monkeypatch.setattr(replays, "MOST_ENTRIES", 3)
    with pytest.raises(TooLongToReplay):
        replays.replayed(cast.alice(), session)


def test_at_the_machine_with_a_policy_and_with_the_model_asked_again(bank, tmp_path, capsys):
    session = moved()
    file = Path(tmp_path) / "strict.json"
    file.write_text(json.dumps(STRICT))
    with nothing_written():
        call_command("replay", str(session), policy=file)
        call_command("replay", str(session), model=True)
    told = capsys.readouterr().out
    assert "2 people asked" in told
    assert "requests to the model" in told
    assert "transfer: allowed, done" in told
    file.write_text("{}")
    with pytest.raises(CommandError):
        call_command("replay", str(session), policy=file)
