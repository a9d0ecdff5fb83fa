"""Charts in the running system: where a session stands, signals, timers that wake it, and the pages and operations."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.urls import reverse

from agentstate import clock
from agentstate.engine.decide import NotAwaited, UnknownSignal
from agentstate.people.permissions import PermissionDenied
from audit import ledger
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.automation.alerts import documents
from sessions.charts import queries
from sessions.charts.commands import signal
from sessions.core import states
from sessions.library import charts
from sessions.versions import commands as versions_commands
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import UNKNOWN, Api, problem
from tests.shell.bank_world import events, kinds, opened, say, state, work
from tests.shell.pages import read
from tests.shell.test_alert_watching import alerts, look, on

pytestmark = pytest.mark.django_db(transaction=True)


def asks(amount: str = "$1,200.00") -> UUID:
    """A session in which the customer wants a transfer, and has said yes."""
    session = opened("C-1001")
    work()
    say(session, f"I want to move {amount} from savings to checking.")
    say(session, "Yes, that is right.")
    return session


def here(session: UUID) -> str:
    return state(session).chart.inside.configuration[-1]


def test_a_session_begins_where_its_agent_s_chart_begins():
    found = queries.standing_of(cast.alice(), opened("C-1001"))
    assert (found.chart, found.begun, found.configuration) == ("bank-transfer@1", False, ("serving", "identify"))
    assert "transfer" not in found.tools


def test_the_chart_follows_the_conversation_and_every_move_is_an_entry(bank):
    session = asks()
    assert here(session) == "approve"
    moves = events(session, "chart.moved")
    assert [move["event"] for move in moves if move["shift"].get("taken")] == [
        "call.returned.load_customer", "call.returned.authorize", "call.waiting.transfer",
    ]  # fmt: skip
    assert {"transfer", "authorize"}.isdisjoint(state(session).chart.tools)
    call_command("rebuild", "--check")


def test_what_the_agent_is_told_and_may_call_changes_with_it(bank):
    from sessions.agents import definition, registry

    session = opened("C-1001")
    say(session, "Hello.")
    told = definition.build(registry.find("bank"), "a model", state(session))
    assert "Find out what is wanted" in told.instructions
    assert {tool.name for tool in told.tools} >= {"load_customer", "authorize"}
    assert "transfer" not in {tool.name for tool in told.tools}


def test_a_signal_moves_the_chart_and_one_that_is_not_awaited_changes_nothing(bank):
    session = asks()
    signal(cast.alice(), session, "fraud.suspected", {"case": 7}, key="k")
    assert (here(session), state(session).chart.tools) == ("held", ())
    assert signal(cast.alice(), session, "fraud.suspected", {"case": 7}, key="k").repeated
    before = kinds(session)
    with pytest.raises(NotAwaited, match="not possible in: held"):
        signal(cast.alice(), session, "fraud.suspected")
    with pytest.raises(UnknownSignal, match=r"fraud\.cleared"):
        signal(cast.alice(), session, "call.returned.transfer")
    assert kinds(session) == before


def test_what_waits_is_not_carried_out_while_the_chart_forbids_it(bank):
    session = asks()
    before = bank.transfers("C-1001")
    line = next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)
    signal(cast.alice(), session, "fraud.suspected")
    approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("approve"))
    work()
    assert bank.transfers("C-1001") == before
    assert events(session, "call.refused")[-1]["code"] == "not_in_this_state"


def test_a_viewer_may_not_signal_and_a_stranger_learns_nothing(bank):
    session = opened("C-1001")
    with pytest.raises(PermissionDenied):
        signal(cast.vera(), session, "fraud.suspected")
    with pytest.raises(states.UnknownSession):
        queries.standing_of(cast.charlie(), session)


def test_a_timer_wakes_the_session_by_its_row(bank, monkeypatch):
    session = opened("C-1001")
    work()
    say(session, "I want to move $1,200.00 from savings to checking.")
    assert here(session) == "cleared"
    ((due,),) = ledger.run("SELECT ready_at FROM agent_sessions_agentsession WHERE id = %(s)s", {"s": session})
    assert timedelta(minutes=14) < due - clock.now() < timedelta(minutes=16)
    later = due + timedelta(seconds=1)
    monkeypatch.setattr("sessions.core.commit.now", lambda: later)
    monkeypatch.setattr("sessions.runtime.advance.now", lambda: later)
    ledger.run("UPDATE agent_sessions_agentsession SET ready_at = now() WHERE id = %(s)s", {"s": session})
    work()
    assert here(session) == "ask"
    assert events(session, "chart.moved")[-1]["event"] == "timer"


def test_a_transfer_without_a_check_is_refused_where_the_chart_stands(settings, bank):
    from tests.live.chat_server import Call, Say
    from tests.shell.test_model_over_wire import agent_at

    wish = {"from_account": "1", "to_account": "2", "amount": {"minor": 100, "currency": "USD"}}
    with agent_at(settings, Say(calls=(Call("transfer", json.dumps(wish), id="c"),)), Say("I cannot do that.")):
        session = opened("C-1001")
        say(session, "Move a dollar.")
    assert events(session, "call.refused")[0]["code"] in ("not_in_this_state", "invalid_arguments")


OWN: dict[str, Any] = {
    "name": "own", "version": 1, "events": ["go"],
    "states": [{"id": "a", "transitions": [{"event": "go", "to": ["b"]}]}, {"id": "b", "kind": "final"}],
}  # fmt: skip


def test_a_chart_is_checked_and_comes_back_as_scxml_which_is_the_same_chart():
    api = Api(cast.vera())
    cases = [{"name": "goes", "when": [{"event": "go"}], "then": {"in": ["b"], "done": True}}]
    first = api.post("/charts/check", {"chart": OWN, "cases": cases}).json()
    assert (first["findings"], first["coverage"]["percent"]) == ([], 100)
    assert [verdict["wrong"] for verdict in first["cases"]] == [[]]
    again = api.post("/charts/check", {"scxml": first["scxml"]}).json()
    assert again["chart"] == first["chart"]


def test_a_chart_is_tried_out_and_nothing_is_kept():
    api = Api(cast.vera())
    steps = [{"event": "fraud.suspected"}, {"wait": "1h", "event": "fraud.cleared"}]
    answer = api.post("/charts/simulate", {"name": "bank-transfer", "steps": steps}).json()
    assert [stage["configuration"][-1] for stage in answer["stages"]] == ["identify", "held", "identify"]
    assert api.post("/charts/simulate", {"chart": OWN, "steps": [{"event": "go"}]}).json()["running"] is False


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("check", {}, "invalid"),
        ("check", {"chart": OWN, "scxml": "<scxml/>"}, "invalid"),
        ("check", {"scxml": "<!DOCTYPE a><scxml/>"}, "bad_chart"),
        ("check", {"chart": {**OWN, "states": []}}, "bad_chart"),
        ("check", {"chart": {**OWN, "version": 1.5}}, "bad_chart"),
        ("simulate", {"name": "bank-transfer", "steps": [{"shout": 1}]}, "bad_chart"),
        ("simulate", {"chart": OWN, "steps": [], "given": {"state": {"a": 0.5}}}, ""),
    ],
)
def test_what_is_no_chart_is_a_problem_document(path, body, code):
    answer = Api(cast.vera()).post(f"/charts/{path}", body)
    if code:
        problem(answer, 400, code)
    else:
        assert answer.status_code == 200


def test_the_operations_on_a_session_answer_as_documented(bank):
    session = opened("C-1001")
    api = Api(cast.alice())
    assert api.post(f"/sessions/{session}/signals", {"name": "fraud.suspected"}).status_code == 409
    say(session, "Hello.")
    assert api.get(f"/sessions/{session}/chart").json()["configuration"] == ["serving", "ask"]
    assert api.post(f"/sessions/{session}/signals", {"name": "fraud.suspected"}).status_code == 201
    problem(api.post(f"/sessions/{session}/signals", {"name": "fraud.suspected"}), 409, "not_awaited")
    problem(api.get(f"/sessions/{UNKNOWN}/chart"), 404, "unknown_session")
    problem(api.get("/charts/nothing"), 404, "unknown_chart")
    assert [line["name"] for line in api.get("/charts").json()["charts"]] == ["bank-transfer", "lifecycle"]


def test_the_pages_show_where_it_stands_and_what_is_said_of_the_charts(bank):
    session = asks()
    client = cast.browser(cast.alice())

    def page(name: str, *args: object) -> str:
        answer = client.get(reverse(name, args=args))
        read(answer.content)  # it is whole
        return answer.content.decode()

    shown = page("session_chart", session)
    assert "Approve" in shown
    assert 'aria-current="step"' in shown
    assert "request.approved.transfer" in shown
    assert "12 pass" in page("charts")
    assert "100%" in page("chart", "bank-transfer")
    assert reverse("session_chart", args=[session]) in page("session", session)


def test_every_installed_chart_is_sound():
    assert sorted(charts.newest()) == ["bank-transfer", "lifecycle"]
    lines = queries.chart_lines(cast.alice())
    assert [(line.errors, line.failed) for line in lines] == [(0, 0), (0, 0)]


def shipped(name: str) -> None:
    """The team has this shipped alert rule, and no other."""
    on(name, {each: data for what, each, data in documents.shipped() if what == "rule"}[name])


def waiting_in(session: UUID) -> approvals_queries.RequestLine:
    return next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)


def test_what_a_chart_held_stays_held_when_its_version_is_gone_and_somebody_is_alerted(bank, monkeypatch):
    shipped("chart-holds-tools")
    session = asks()
    before, line = bank.transfers("C-1001"), waiting_in(session)
    signal(cast.alice(), session, "fraud.suspected")
    look()
    assert alerts() == []
    monkeypatch.setattr(charts, "by_reference", dict)
    approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("approve"))
    work()
    assert state(session).chart.stopped
    assert bank.transfers("C-1001") == before
    look()
    assert alerts() == ["chart-holds-tools"]


def test_a_hold_reaches_the_fork_that_is_promoted_and_somebody_is_alerted(bank):
    shipped("chart-holds-tools")
    session = asks()
    child = versions_commands.fork(cast.alice(), session, reason="what if").session
    signal(cast.alice(), session, "fraud.suspected")
    versions_commands.promote(cast.alice(), child, reason="it does better")
    assert (here(child), state(child).chart.tools) == ("held", ())
    look()
    assert alerts() == ["chart-holds-tools"]
    signal(cast.alice(), child, "fraud.cleared")
    assert here(child) != "held"
    assert rebuild.check(child) == []


def test_a_hold_that_was_cleared_in_the_fork_does_not_come_back_with_its_promotion(bank):
    session = asks()
    signal(cast.alice(), session, "fraud.suspected")
    child = versions_commands.fork(cast.alice(), session, reason="what if").session
    signal(cast.alice(), child, "fraud.cleared")
    versions_commands.promote(cast.alice(), child, reason="it does better")
    assert here(child) != "held"
