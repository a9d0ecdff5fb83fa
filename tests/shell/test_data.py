"""Data messages through their door: who may add one, what is refused, what plans and the agent see of it."""

from __future__ import annotations

import json
import random
from typing import Any
from uuid import UUID

import pytest

from agentstate.engine.schemas import HIDDEN
from agentstate.people.permissions import PermissionDenied
from sessions.core import states
from sessions.data import commands as data_commands
from sessions.data import queries as data_queries
from sessions.plans import commands as plans_commands
from sessions.plans import queries as plans_queries
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import Api, nothing_written, problem
from tests.shell.bank_world import events, opened, say, state, work
from tests.shell.side_by_side_world import model, told
from tests.shell.test_plans import step

pytestmark = pytest.mark.django_db(transaction=True)

PIN = {"type": "object", "properties": {"pin": {"type": "string", "x-private": True}, "n": {"type": "integer"}}}


def message(data: Any, kind: str = "notes", **more: Any) -> dict[str, Any]:
    return {"type": "data", "kind": kind, "data": data, **more}


def add(session: UUID, *messages: dict[str, Any]) -> None:
    for each in messages:
        data_commands.add_data(cast.alice(), session, each)


def objects(session: UUID, by: Any = None) -> dict[str, Any]:
    lines = data_queries.data_of(by or cast.alice(), session).objects
    return {f"{line.kind}@{line.instance}" if line.instance else line.kind: line.value for line in lines}


def test_messages_of_one_kind_are_patches_of_one_object():
    session, api = told(), Api(cast.alice())
    for data in ({"a": {"x": 1, "y": [1]}}, {"a": {"y": [2]}, "b": None}):
        assert api.post(f"/sessions/{session}/data", message(data)).status_code == 201
    assert api.post(f"/sessions/{session}/data", {"type": "data", "data": "anything"}).status_code == 201
    assert api.post(f"/sessions/{session}/data", message(5, _instance="ann")).status_code == 201
    found = api.get(f"/sessions/{session}/data").json()
    assert [(each["kind"], each["instance"], each["value"]) for each in found["objects"]] == [
        ("notes", "", {"a": {"x": 1, "y": [2]}, "b": None}),
        ("data", "", "anything"),
        ("notes", "ann", 5),
    ]
    assert rebuild.check(session) == []


def test_a_message_that_cannot_be_taken_is_refused_by_field_or_rule_and_nothing_is_written():
    session, api = told(), Api(cast.alice())
    add(session, message({"n": 1}, schema=PIN))
    for body, code in (
        (message({"n": "one"}), "breaks_schema"),
        (message({}, schema={"$ref": "http://127.0.0.1/x"}), "bad_schema"),
        (message({}, schema={"type": "object", "patternProperties": {"(a+)+$": {}}}), "bad_schema"),
        (message({}, kind="state"), "bad_message"),
        (message({}, kind="input"), "bad_message"),
        (message({}, schema="x"), "bad_message"),
        (message({}, more=1), "invalid"),
        ({"type": "state", "data": 1}, "invalid"),
        ({"type": "data"}, "invalid"),
    ):
        with nothing_written():
            problem(api.post(f"/sessions/{session}/data", body), 400, code)
    assert objects(session) == {"notes": {"n": 1}}


def test_only_who_may_change_the_state_adds_data_and_only_who_may_read_sees_it():
    session = told()
    add(session, message({"pin": "1234", "n": 1}, schema=PIN))
    for user in (cast.vera(), cast.anna(), cast.adam()):
        with pytest.raises((PermissionDenied, states.UnknownSession)), nothing_written():
            data_commands.add_data(user, session, message(1))
    with pytest.raises(states.UnknownSession), nothing_written():
        data_commands.add_data(cast.charlie(), session, message(1))
    assert objects(session, cast.vera())["notes"] == {"pin": HIDDEN, "n": 1}


def test_the_same_message_under_the_same_key_is_added_once():
    session, api = told(), Api(cast.alice())
    body = message({"n": 1}, idempotency_key="k-1")
    seqs = {api.post(f"/sessions/{session}/data", body).json()["seq"] for _ in range(2)}
    assert len(seqs) == len(events(session, "data.added")) == 1


def test_a_plan_reads_and_writes_data_and_a_tool_sees_what_its_scopes_name():
    session = told()
    add(session, message({"name": "Ann", "pin": "1234"}, schema=PIN), message({"x": 1}, kind="other"))
    calls = [
        step("wait", "†notes.again", name="†notes.name"),
        step("look", "state.seen", name="†notes.again.name", _scopes=["notes.name", "notes.again"]),
    ]
    plans_commands.propose_plan(cast.alice(), session, calls=calls)
    work()
    assert objects(session)["notes"]["again"] == {"name": "Ann"}
    assert state(session).pad["seen"] == {"view": {"notes": {"name": "Ann", "again": {"name": "Ann"}}}}
    assert rebuild.check(session) == []


def test_the_agent_is_told_of_data_but_never_of_what_is_private():
    session = told()
    add(session, message({"pin": "1234", "n": 1}, schema=PIN), message({"text": "y" * 9_000}, kind="letter"))
    say(session, "Go on.")
    data = model.asked[-1].state["data"]
    assert data["notes"] == {"n": 1}
    assert data["letter"] == {"not_shown": "9011 characters", "keys": ["text"]}


def test_data_is_on_the_page_of_the_state():
    session = told()
    add(session, message({"pin": "1234", "shoes": "brown"}, schema=PIN))
    page = cast.browser(cast.alice()).get(f"/sessions/{session}/state/").content.decode()
    assert "†notes" in page
    assert "brown" in page
    assert "1234" not in cast.browser(cast.vera()).get(f"/sessions/{session}/state/").content.decode()


def test_data_goes_back_with_a_rollback_and_along_with_a_fork():
    session = told()
    add(session, message({"n": 1}))
    seen = state(session).seq
    add(session, message({"n": 2}))
    fork = versions_commands.fork(cast.alice(), session, seq=seen, reason="what if").session
    assert objects(fork) == {"notes": {"n": 1}}
    preview = versions_queries.rollback_preview(cast.alice(), session, seen)
    versions_commands.roll_back(cast.alice(), session, to=seen, reason="no", seen=preview.digest)
    assert objects(session) == {"notes": {"n": 1}}
    assert rebuild.check(session) == []


def test_whatever_is_sent_to_the_door_is_taken_or_refused_by_name():
    session, api, dice = told(), Api(cast.alice()), random.Random(7)
    pieces: list[Any] = [
        None,
        True,
        7,
        -1,
        "",
        "data",
        "notes",
        "state",
        "†notes.x",
        [],
        {},
        {"n": 1},
        PIN,
        [[1]],
        "x" * 200,
    ]
    for _ in range(150):
        names = dice.sample(["type", "kind", "data", "schema", "_instance", "more"], dice.randint(0, 5))
        body = {"type": "data", **{name: dice.choice(pieces) for name in names}}
        answer = api.post(f"/sessions/{session}/data", json.dumps(body).encode())
        assert answer.status_code in (201, 400, 409), body
    assert rebuild.check(session) == []


def test_a_plan_of_which_nothing_was_done_is_not_called_carried_out():
    session = told()
    browser = cast.browser(cast.alice())
    for calls, headline in (
        ([step("fail", "state.a", name="a"), step("wait", name="†state.a.name")], "Ended, nothing was done"),
        ([step("fail", name="a"), step("wait", name="b")], "Ended, 1 of 2 calls done"),
        ([step("wait", name="b")], "Completed"),
    ):
        plans_commands.propose_plan(cast.alice(), session, calls=calls)
        work()
        assert f">{headline}<" in browser.get(f"/sessions/{session}/plan/").content.decode()


def test_goals_are_named_and_changed_on_the_page_of_the_plan():
    session, browser = told(), cast.browser(cast.alice())

    def post(**form: Any) -> Any:
        return browser.post(f"/sessions/{session}/plan/goals/", form)

    assert post(op="set", title="Settle the claim", version=0).status_code == 302
    assert post(op="add", task="settle-the-claim", title="Ask for papers", version=1).status_code == 302
    assert post(op="add", task="settle-the-claim", title="Ask for papers", version=2).status_code == 302
    assert post(op="change", task="ask-for-papers", status="done", version=3).status_code == 302
    assert post(op="remove", task="ask-for-papers-2", version=4).status_code == 302
    line = plans_queries.goals_of(cast.alice(), session)
    assert [(each.task.title, each.standing.status) for each in line.tasks] == [
        ("Settle the claim", "done"),
        ("Ask for papers", "done"),
    ]
    assert post(op="remove", task="ask-for-papers", version=3).status_code == 409
    for form in ({"op": "burn"}, {"op": "change"}, {"op": "add", "title": ""}, {"op": "change", "status": "no"}):
        assert post(**form, task="ask-for-papers", version=5).status_code == 400
    assert cast.browser(cast.vera()).post(f"/sessions/{session}/plan/goals/", {"op": "set"}).status_code == 403
    assert "Change goals" not in cast.browser(cast.vera()).get(f"/sessions/{session}/plan/").content.decode()


def test_the_bank_holds_no_data_until_somebody_adds_some(bank):
    assert objects(opened()) == {}


def test_a_plan_goes_on_when_somebody_takes_away_what_a_ready_call_reads():
    session = told()
    add(session, message({"name": "a"}))
    calls = [step("wait", name="†notes.name"), step("wait", "state.b", name="b")]
    plans_commands.propose_plan(cast.alice(), session, calls=calls)
    add(session, message("gone"))
    work()
    assert state(session).pad["b"] == {"name": "b"}
    assert state(session).plans.counts == {"blocked": 1, "done": 1}
    assert rebuild.check(session) == []
