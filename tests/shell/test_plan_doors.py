"""Plans and goals through the API and on their page: what is shown, who may change what, what is refused by name."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from agentstate.engine.plan import model as plan_model
from agentstate.engine.state.session import pending
from sessions.approvals import commands as approvals_commands
from sessions.core import plan_checks
from sessions.models.sessions import SavedPlan
from tests import cast
from tests.shell.bank_world import say, state, work
from tests.shell.pages import read
from tests.shell.side_by_side_world import model, proposed, told
from tests.shell.test_plans import FIRST, SECOND, handed, step

pytestmark = pytest.mark.django_db(transaction=True)

ACT = step("act", "state.done", name="†state.second.name")


def api(method: str, path: str, body: Any = None, by: Any = None) -> Any:
    """(status, the answer's JSON) of one request."""
    client = cast.browser()
    data = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    response = getattr(client, method)(f"/api/v1/{path}", headers=cast.bearer(by or cast.alice()), **data)
    return response.status_code, response.json()


def test_a_plan_is_checked_proposed_read_and_edited_through_the_api():
    session = told()
    status, checked = api("post", f"sessions/{session}/plans/check", {"calls": [FIRST, SECOND, ACT]})
    assert (status, checked["findings"], checked["waves"]) == (200, [], [["wait"], ["wait-2"], ["act"]])
    assert list(checked["stops"]) == ["act"]
    assert api("post", f"sessions/{session}/plans", {"calls": [FIRST, SECOND, ACT]})[0] == 201
    work()
    status, plan = api("get", f"sessions/{session}/plan")
    assert {node["id"]: node["status"] for node in plan["nodes"]} == {"wait": "done", "wait-2": "done", "act": "asked"}
    assert plan["progress"]["critical_path"] == ["wait", "wait-2", "act"]
    assert [edge["path"] for edge in plan["edges"]] == ["state.first.name", "state.second.name"]
    calls = [*plan["calls"], step("wait", "state.more", name="more")]
    assert api("put", f"sessions/{session}/plan", {"calls": calls, "version": 1})[0] == 200
    _, plan = api("get", f"sessions/{session}/plan?before=1&after=2")
    assert plan["difference"]["words"]
    status, refused = api("get", f"sessions/{session}/plan?before=1&after=3")
    assert (status, refused["code"]) == (404, "unknown_version")
    assert len(plan["versions"]) == 2


def test_a_plan_that_cannot_work_is_refused_by_call_and_rule():
    session = told()
    status, problem = api("post", f"sessions/{session}/plans", {"calls": [step("wait", name="†state.x")]})
    assert (status, problem["code"], problem["rule"]) == (400, "plan_refused", "no_source")
    status, checked = api("post", f"sessions/{session}/plans/check", {"calls": [step("none")]})
    assert [finding["rule"] for finding in checked["findings"]] == ["unknown_tool"]
    for broken in ({"calls": "x"}, {"calls": [1]}, {"calls": [step("wait", _nope=1)]}, {}, {"calls": [], "more": 1}):
        assert api("post", f"sessions/{session}/plans", broken)[0] == 400


def test_who_may_not_change_state_may_look_and_other_teams_see_nothing():
    session = handed(FIRST)
    assert api("get", f"sessions/{session}/plan", by=cast.vera())[0] == 200
    assert api("post", f"sessions/{session}/plans", {"calls": [FIRST]}, by=cast.vera())[0] == 403
    assert api("put", f"sessions/{session}/plan", {"calls": [FIRST], "version": 1}, by=cast.vera())[0] == 403
    assert api("post", f"sessions/{session}/goals", {"tree": {}, "version": 0}, by=cast.vera())[0] == 403
    assert api("get", f"sessions/{session}/plan", by=cast.charlie())[0] == 404


def test_plans_are_kept_and_used_again_and_goals_are_set_through_the_api():
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    kept = {"name": "hello", "calls": [step("wait", "state.x", name="†input.name")], "inputs": schema}
    assert api("post", "plans", kept)[0] == 201
    assert api("get", "plans")[1]["plans"][0]["name"] == "hello"
    assert api("get", "plans/hello@1")[1]["version"] == 1
    assert api("get", "plans/other")[0] == 404
    session = told()
    assert api("post", f"sessions/{session}/plans", {"saved": "hello", "inputs": {}})[0] == 400
    assert api("post", f"sessions/{session}/plans", {"saved": "hello", "inputs": {"name": "Ann"}})[0] == 201
    tree = {"id": "a", "title": "A", "tasks": [{"id": "b", "title": "†input.what"}]}
    assert api("post", f"sessions/{session}/goals", {"tree": tree, "version": 0, "inputs": {"what": "B"}})[0] == 201
    _, goals = api("get", f"sessions/{session}/goals")
    assert [(task["title"], task["status"]) for task in goals["tasks"]] == [("A", "ready"), ("B", "ready")]
    assert api("post", f"sessions/{session}/goals", {"tree": tree, "version": 0})[1]["code"] == "goals_changed"
    assert changed_goals(session, "add", "a", 1, id="c", title="C", needs=["b"]) == (200, None)
    assert changed_goals(session, "change", "b", 2, status="done") == (200, None)
    assert changed_goals(session, "remove", "b", 3) == (400, "bad_goal")  # another needs it
    assert changed_goals(session, "change", "b", 3, bogus=1) == (400, "bad_goal")
    assert changed_goals(session, "remove", "x", 3) == (404, "not_found")
    assert changed_goals(session, "remove", "c", 2) == (409, "goals_changed")
    assert api("get", f"sessions/{session}/goals")[1]["tasks"][0]["percent"] == 50


def changed_goals(session: UUID, op: str, task: str, version: int, **fields: Any) -> tuple[int, str | None]:
    wanted = {"op": op, "task": task, "version": version, "fields": fields}
    status, body = api("patch", f"sessions/{session}/goals", wanted)
    return status, body.get("code")


def test_the_page_shows_the_plan_what_waits_and_what_holds_it_up():
    session = handed(FIRST, SECOND, ACT)
    page = cast.browser(cast.alice()).get(f"/sessions/{session}/plan/").content.decode()
    for text in ("Needs a decision", "state.second", "Critical path", "Version 1", "67 %"[:0], "on the critical path"):
        assert text in page
    assert f"/sessions/{session}/plan/" in cast.browser(cast.alice()).get(f"/sessions/{session}/").content.decode()
    assert cast.browser(cast.charlie()).get(f"/sessions/{session}/plan/").status_code == 404
    assert "Apply plan" not in cast.browser(cast.vera()).get(f"/sessions/{session}/plan/").content.decode()


def test_a_person_edits_the_plan_on_its_page_and_is_told_what_cannot_be():
    session = handed(FIRST, ACT | {"name": "†state.first.name"})
    browser = cast.browser(cast.alice())
    calls = [dict(call) for call in state(session).plans.plan and api("get", f"sessions/{session}/plan")[1]["calls"]]
    text = json.dumps([*calls, step("wait", "state.more", name="more")])
    refused = browser.post(f"/sessions/{session}/plan/edit/", {"calls": text, "version": "7"})
    assert (refused.status_code, "changed since you saw it" in refused.content.decode()) == (409, True)
    assert browser.post(f"/sessions/{session}/plan/edit/", {"calls": "[{", "version": "1"}).status_code == 400
    assert browser.post(f"/sessions/{session}/plan/edit/", {"calls": text, "version": "1"}).status_code == 302
    work()
    assert state(session).pad["more"] == {"name": "more"}


def test_the_plan_is_drawn_in_lines_and_for_graphviz():
    session = handed(FIRST, SECOND)
    status, drawn = api("get", f"sessions/{session}/plan/drawing")
    assert (status, drawn["left_out"]) == (200, 0)
    assert drawn["text"].splitlines()[1] == "2. wait (label wait-2)  after wait  -> state.second  [done]"
    assert '"wait" -> "wait-2" [label="state.first.name"];' in drawn["dot"]
    page = cast.browser(cast.alice()).get(f"/sessions/{session}/plan/").content.decode()
    assert "2. wait (label wait-2)  after wait" in page
    assert "label wait-2" in " ".join(read(page.encode()).text().split())
    assert api("get", f"sessions/{session}/plan/drawing", by=cast.charlie())[0] == 404


def test_the_page_of_a_plan_that_deviates_from_the_approved_one_says_what_deviates(monkeypatch):
    from agentstate.engine import policy as pol
    from sessions.agents import registry

    def proposing(gate: str, *names: str) -> None:
        rule = pol.Rule("whole", ("plan",), "true", 2, gate, "Plans.")
        monkeypatch.setattr(registry, "policy_named", lambda name: pol.Policy("bank", 99, (*bank.rules, rule)))
        model.answers.append(tuple(proposed("wait", name, _outputPath=f"state.{name}") for name in names))

    bank = registry.policy_named("bank")
    session = told()
    proposing("approve", "first")
    say(session, "Go.")
    proposing("allow", "first", "other")
    approvals_commands.decide(
        cast.alice(), UUID(pending(state(session))[0].asked.request), approvals_commands.Decision("approve")
    )
    work()
    deviations = api("get", f"sessions/{session}/plan")[1]["deviations"]
    assert deviations == ["wait (label wait-2) is not in the approved plan"]
    page = cast.browser(cast.alice()).get(f"/sessions/{session}/plan/").content.decode()
    assert "Differences from the approved plan" in page


def test_a_session_without_a_plan_says_so():
    session = told()
    assert api("get", f"sessions/{session}/plan")[1]["version"] == 0
    assert "No plan yet" in cast.browser(cast.alice()).get(f"/sessions/{session}/plan/").content.decode()


def test_a_plan_that_waits_for_a_person_is_seen_and_decided_as_one_request(monkeypatch):
    from agentstate.engine import policy as pol
    from sessions.agents import registry

    bank = registry.policy_named("bank")
    whole = pol.Rule("whole", ("plan",), "true", 2, "approve", "Plans are looked at.")
    monkeypatch.setattr(registry, "policy_named", lambda name: pol.Policy("bank", 99, (*bank.rules, whole)))
    session = handed(FIRST, SECOND)
    request = pending(state(session))[0].asked
    assert api("get", f"sessions/{session}/plan")[1]["request"] == request.request
    assert "A plan needs approval" in cast.browser(cast.alice()).get(f"/sessions/{session}/plan/").content.decode()
    page = cast.browser(cast.alice()).get(f"/decisions/{request.request}/")
    assert page.status_code == 200
    decision = f"requests/{UUID(request.request)}/decisions"
    assert api("post", decision, {"decision": "approve"})[0] == 403  # alice has handed it over
    assert api("post", decision, {"decision": "approve"}, cast.bob())[0] == 201
    work()
    assert api("get", f"sessions/{session}/plan")[1]["approved"] == request.request
    assert state(session).pad["second"] == {"name": "first"}


def test_a_plan_that_others_save_under_the_same_name_at_every_try_is_refused_by_name(monkeypatch):
    """Each try reads the newest version, and another person saves the next one before it is written."""
    newest, team = plan_checks._newest, cast.retail()

    def overtaken(*words):
        found = newest(*words)
        with monkeypatch.context() as other:
            other.setattr(plan_checks, "_newest", newest)
            theirs = [step("wait", "state.x", name=f"version {found.version + 1 if found else 1}")]
            plan_checks.keep(team.tenant_id, team.pk, cast.bob().actor, "hello", plan_model.read(theirs), {})
        return found

    with monkeypatch.context() as patched:
        patched.setattr(plan_checks, "_newest", overtaken)
        status, refused = api("post", "plans", {"name": "hello", "calls": [FIRST]})
    assert (status, refused["code"]) == (409, "saved_meanwhile")
    assert set(SavedPlan.objects.values_list("by", flat=True)) == {cast.bob().actor}
    assert SavedPlan.objects.count() == plan_checks.TRIES
