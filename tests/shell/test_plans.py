"""Plans on the real runtime: references, approval, edits, versions, instances, delegates, saved plans, goals."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import pytest
from msgspec import structs

from agentstate.engine.advance import NOBODY
from agentstate.engine.decide.plans import AlreadyBegun, PlanChanged
from agentstate.engine.model import ModelFailed
from agentstate.engine.plan.check import PlanRefused
from agentstate.engine.state.session import pending
from agentstate.people.permissions import PermissionDenied
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.core import plan_checks, states
from sessions.core.commit import run_commands
from sessions.core.committed import Lease
from sessions.models.sessions import AgentSession, Snapshot, SnapshotPart
from sessions.plans import commands as plan_commands
from sessions.plans import queries as plans_queries
from sessions.runtime import advance, delegates
from sessions.tools import registry as tools
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import events, kinds, refused_codes, say, state, work
from tests.shell.side_by_side_world import Told, model, proposed, ran, told

pytestmark = pytest.mark.django_db(transaction=True)


def step(tool: str, path: str = "", **more: Any) -> dict[str, Any]:
    return {"_tool": tool, **({"_outputPath": path} if path else {}), **more}


FIRST = step("wait", "state.first", name="first")
SECOND = step("wait", "state.second", name="†state.first.name")


def handed(*calls: dict[str, Any], **more: Any) -> UUID:
    """A session to which a supervisor has handed this plan, and the worker has done what it could."""
    session = told()
    plan_commands.propose_plan(cast.alice(), session, calls=list(calls), **more)
    work()
    return session


def statuses(session: UUID) -> dict[str, str]:
    return {name: each.status for name, each in plans_queries.plan_of(cast.alice(), session).progress.standings.items()}


def test_a_request_records_the_tools_that_it_offers_plans_and_goals_among_them():
    session = told(())
    say(session, "Go.")
    (request,) = events(session, "model.requested")
    assert request["tools"] == ["wait", "meet", "stay", "fail", "act", "picky", "look", "plan", "goals"]


def test_the_calls_of_an_answer_wait_for_each_other_and_run_on_resolved_values():
    first = proposed("wait", "first", _outputPath="state.first")
    session = told((first, proposed("wait", "†state.first.name", _outputPath="state.second")))
    say(session, "Go.")
    assert ran.names == ["first", "first"]
    assert state(session).pad["second"] == {"name": "first"}
    assert kinds(session).count("plan.round_ended") == 1
    assert (
        kinds(session)[-3:] == ["model.requested", "message.added", "model.answered"]
        or kinds(session)[-1] == "run.rested"
    )
    assert rebuild.check(session) == []


def test_a_dependent_of_a_finished_call_starts_without_waiting_for_its_siblings():
    sibling = step("meet", "state.sibling", name="sibling")
    dependent = step("meet", "state.dependent", name="†state.first.name")
    session = handed(sibling, FIRST, dependent)
    assert statuses(session) == {"meet": "done", "wait": "done", "meet-2": "done"}  # each waits until the other runs


def test_a_plan_that_needs_what_nothing_gives_is_refused_and_nothing_runs():
    session = told()
    with pytest.raises(PlanRefused, match="no_source"):
        plan_commands.propose_plan(cast.alice(), session, calls=[step("wait", name="†state.nowhere")])
    assert "plan.committed" not in kinds(session)


def test_what_needs_a_person_stops_on_what_it_resolved_to_and_the_rest_goes_on():
    session = handed(FIRST, step("act", "state.done", name="†state.first.name"), step("wait", "state.w", name="w"))
    request = pending(state(session))[0]
    assert request.asked.arguments == {"name": "first"}
    assert statuses(session) == {"wait": "done", "act": "asked", "wait-2": "done"}
    approvals_commands.decide(
        cast.alice(), UUID(request.asked.request), approvals_commands.Decision("reject", reason="no")
    )
    work()
    assert statuses(session)["act"] == "rejected"
    assert not state(session).plans.is_open
    assert rebuild.check(session) == []


def test_a_person_edits_the_plan_and_every_version_is_kept_with_what_changed():
    session = handed(step("act", "state.done", name="first"), step("wait", "state.w", name="†state.done.done"))
    calls = plans_queries.plan_of(cast.alice(), session).calls
    other = [calls[0], {**calls[1], "milliseconds": 0}]
    with pytest.raises(AlreadyBegun):
        plan_commands.edit_plan(cast.alice(), session, [{**calls[0], "name": "other"}, calls[1]], version=1)
    with pytest.raises(PlanChanged):
        plan_commands.edit_plan(cast.alice(), session, other, version=4)
    with pytest.raises(PermissionDenied):
        plan_commands.edit_plan(cast.vera(), session, other, version=1)
    plan_commands.edit_plan(cast.alice(), session, other, version=1)
    line = plans_queries.plan_of(cast.alice(), session)
    assert [each.version for each in line.versions] == [2, 1]
    _, words = plans_queries.plan_difference(cast.alice(), session, 1, 2)
    assert any("milliseconds" in word for word in words)


def test_a_thousand_instances_of_which_one_is_poisoned_all_end():
    members = [{"name": f"C-{number}", "inputs": {"name": f"n{number}"}} for number in range(1000)]
    session = told()
    began = time.perf_counter()
    calls = [step("picky", "state.a", name="†input.name"), step("wait", "state.b", name="†state.a.name")]
    plan_commands.propose_plan(cast.alice(), session, calls=calls, instances=members)
    proposed_in = time.perf_counter() - began
    work()
    took = time.perf_counter() - began
    line = plans_queries.plan_of(cast.alice(), session)
    print(f"1,000 instances, 2 calls each: proposed in {proposed_in:.1f} s, all in {took:.1f} s")
    assert line.counts == {"done": 1998, "failed": 1, "blocked": 1}
    assert (line.members, line.ended, line.percent) == (1000, 1000, 100)
    assert line.instances[0].name == "C-666"
    assert state(session).plans.instances["C-5"].pad == {"a": {"name": "n5"}, "b": {"name": "n5"}}
    assert states.fold_all(session, states.load(session).head.size) == state(session)
    assert rebuild.check(session) == []


def test_more_instances_than_one_session_holds_become_sessions_under_one_parent(monkeypatch):
    monkeypatch.setattr("sessions.plans.commands.MAX_INSTANCES", 20)
    codes = refused_codes(monkeypatch, delegates, "person_command")
    members = [{"name": f"C-{number}", "inputs": {"name": f"n{number}"}} for number in range(50)]
    session = handed(step("wait", "state.a", name="†input.name"), instances=members, key="batch")
    assert codes == ["not_yet"] * 3  # the parts had ended before their parent waited for them
    delegates.deliver_due()
    work()
    children = AgentSession.objects.filter(parent=session)
    assert [child.delivered for child in children] == [True] * 3
    assert statuses(session) == {"part-1": "done", "part-2": "done", "part-3": "done"}
    well = [event["result"]["well"] for event in events(session, "tool.returned")]
    assert sorted(well) == [10, 20, 20]
    assert all(rebuild.check(each) == [] for each in (session, *(child.pk for child in children)))


def test_parts_that_end_before_their_parent_has_its_plan_are_not_lost(monkeypatch):
    monkeypatch.setattr("sessions.plans.commands.MAX_INSTANCES", 1)
    opening = plan_commands._open_part

    def done_at_once(*words: Any) -> None:
        opening(*words)
        work()

    monkeypatch.setattr(plan_commands, "_open_part", done_at_once)
    members = [{"name": f"C-{number}", "inputs": {"name": f"n{number}"}} for number in range(2)]
    session = handed(step("wait", "state.a", name="†input.name"), instances=members)
    delegates.deliver_due()
    work()
    assert statuses(session) == {"part-1": "done", "part-2": "done"}
    assert list(AgentSession.objects.filter(parent=session).values_list("delivered", flat=True)) == [True, True]


def test_a_delegate_sees_only_what_its_scopes_hand_over_and_its_output_is_the_result():
    plan_commands.save_plan(
        cast.alice(),
        "greet",
        [step("wait", "state.said", name="†input.name")],
        inputs={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        output="†state.said.name",
        result={"type": "string"},
    )
    call = step("wait", "state.greeting", name="†state.first.name", _delegate="greet", _scopes=["state.first"])
    session = handed(FIRST, call, step("wait", "state.last", name="†state.greeting.output"))
    child = UUID(events(session, "call.delegated")[0]["session"])
    assert state(child).ended
    assert state(child).plans.inputs == {"name": "first"}
    assert state(session).pad["greeting"] == {"session": str(child), "output": "first"}
    assert state(session).pad["last"] == {"name": "first"}
    assert rebuild.check(child) == []


def test_an_anonymous_delegate_is_answered_by_the_agent_in_a_clean_session():
    call = step(
        "wait",
        "state.answer",
        name="sum it up",
        _delegate="anonymous",
        _scopes=["state.first"],
    )
    session = handed(FIRST, {**call, "_when": "state.first.name == 'first'"})
    child = UUID(events(session, "call.delegated")[0]["session"])
    assert '"given":{"state":{"first":{"name":"first"}}}' in "".join(item.text for item in state(child).items)
    assert state(session).pad["answer"]["output"] == "That is all."


def test_an_output_that_could_not_be_delivered_is_delivered_by_the_sweeper(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(delegates, "deliver", lambda child: None)
        session = handed(step("wait", "state.answer", name="x", _delegate="anonymous", _scopes=[]))
    assert statuses(session) == {"wait": "running"}
    assert delegates.deliver_due() == 1
    work()
    assert statuses(session) == {"wait": "done"}
    assert delegates.deliver_due() == 0


def test_a_tool_sees_its_scopes_and_nothing_else():
    session = handed(FIRST, step("look", "state.seen", name="†state.first.name", _scopes=["state.first"]))
    assert state(session).pad["seen"] == {"view": {"state": {"first": {"name": "first"}}}}
    session = handed(FIRST, step("look", "state.seen", name="†state.first.name"))
    assert state(session).pad["seen"] == {"view": {}}


def test_what_the_scopes_of_a_tool_let_it_see_counts_as_read(monkeypatch):
    find = tools.find
    monkeypatch.setattr(tools, "find", lambda name: structs.replace(find(name), scopes=("state.seen.by",)))
    assert ("seen", "by") in registry.reads_of.__wrapped__("told").paths


def test_a_saved_plan_is_used_again_with_other_inputs_and_the_same_again_is_no_new_version():
    inputs = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    for calls in ([step("wait", "state.x", name="†input.name")], [step("wait", "state.x", name="†input.name")]):
        saved = plan_commands.save_plan(cast.alice(), "again", calls, inputs=inputs)
    assert saved.reference == "again@1"
    assert plans_queries.saved_plans(cast.alice())[0].name == "again"
    for name in ("one", "two"):
        session = told()
        plan_commands.propose_plan(cast.alice(), session, saved="again", inputs={"name": name})
        work()
        assert state(session).pad["x"] == {"name": name}
    with pytest.raises(plan_checks.UnknownPlan):
        plans_queries.saved_plan(cast.charlie(), "again")


def test_a_goal_is_taken_apart_by_hand_and_by_the_model():
    session = told()
    tree = {
        "id": "move",
        "title": "Move house",
        "tasks": [{"id": "pack", "title": "Pack"}, {"id": "go", "title": "Go", "needs": ["pack"]}],
    }
    plan_commands.set_goals(cast.alice(), session, tree, version=0)
    line = plans_queries.goals_of(cast.alice(), session)
    assert [(each.task.id, each.standing.status) for each in line.tasks] == [
        ("move", "ready"),
        ("pack", "ready"),
        ("go", "waiting"),
    ]
    tree["tasks"][0]["status"] = "done"
    plan_commands.set_goals(cast.alice(), session, tree, version=1)
    assert plans_queries.goals_of(cast.alice(), session).tasks[0].standing.percent == 50
    model.answers = [(model_call("goals", {"id": "rest", "title": "Rest"}),)]
    say(session, "And now?")
    assert plans_queries.goals_of(cast.alice(), session).tree.title == "Rest"


def test_a_task_that_names_a_saved_plan_stands_where_that_plan_came_to():
    plan_commands.save_plan(cast.alice(), "pack", [step("wait", "state.packed", name="x")])
    session = told()
    tree = {"id": "move", "title": "Move", "tasks": [{"id": "pack", "title": "Pack", "plan": "pack"}]}
    plan_commands.set_goals(cast.alice(), session, tree, version=0)

    def stands() -> tuple[str, int]:
        standing = plans_queries.goals_of(cast.alice(), session).tasks[1].standing
        return standing.status, standing.percent

    assert stands() == ("ready", 0)
    plan_commands.propose_plan(cast.alice(), session, saved="pack")
    assert stands() == ("running", 0)
    work()
    assert stands() == ("done", 100)
    plan_commands.propose_plan(cast.alice(), session, calls=[FIRST])
    assert stands() == ("done", 100)
    assert rebuild.check(session) == []


def model_call(tool: str, arguments: dict[str, Any]) -> Any:
    return type(proposed("wait", "x"))("call", tool, arguments, None)


def test_a_model_may_propose_a_plan_as_a_whole_and_is_told_when_it_has_ended():
    session = told((model_call("plan", {"calls": [FIRST, SECOND]}),))
    say(session, "Go.")
    assert ran.names == ["first", "first"]
    assert "ended" in [item.text for item in state(session).items if item.role == "tool"][-1]


def test_instances_are_kept_as_parts_of_the_snapshot_and_read_back(settings):
    """Only the instances that have changed are written again; a missing part costs time and no truth."""
    settings.SNAPSHOT_EVERY = 20
    members = [{"name": f"C-{number}", "inputs": {"name": f"n{number}"}} for number in range(30)]
    session = handed(step("wait", "state.a", name="†input.name"), instances=members)
    whole = state(session)
    parts = SnapshotPart.objects.filter(session=session)
    assert parts.count() == Snapshot.objects.get(pk=session).parts == 30
    states.forget_all()
    assert state(session) == whole
    assert rebuild.check(session) == []
    before, since = dict(parts.values_list("number", "sealed")), Snapshot.objects.get(pk=session).seq
    stale = [number for number, each in enumerate(whole.plans.instances.values()) if each.seq < since]
    plan_commands.propose_plan(cast.alice(), session, calls=[step("wait", name="b")] * 9)
    work()
    unchanged = [
        number
        for number, sealed in parts.order_by("number").values_list("number", "sealed")
        if sealed == before[number]
    ]
    assert unchanged == stale
    assert stale
    parts.filter(number=3).delete()
    whole = state(session)
    states.forget_all()
    assert state(session) == whole


def test_a_plan_survives_a_worker_that_died_in_it_and_its_calls_run_again_under_the_same_keys():
    session = told()
    plan_commands.propose_plan(cast.alice(), session, calls=[FIRST, step("wait", "state.x", name="x"), SECOND])
    AgentSession.objects.filter(pk=session).update(fence=7)
    run_commands(Lease(session, 7), [advance.intend(session, NOBODY)])
    assert statuses(session) == {"wait": "running", "wait-2": "running", "wait-3": "waiting"}
    AgentSession.objects.filter(pk=session).update(lease_until=None)
    states.forget_all()
    work()
    assert statuses(session) == {"wait": "done", "wait-2": "done", "wait-3": "done"}
    keys = [event["key"] for event in events(session, "tool.intended")]
    assert len(keys) == 5
    assert len(set(keys)) == 3
    assert rebuild.check(session) == []


def test_the_page_of_a_session_tells_what_a_plan_did():
    session = handed(FIRST, step("fail", "state.f", name="f"), step("wait", "state.g", name="†state.f.name"))
    page = cast.browser(cast.alice()).get(f"/sessions/{session}/").content.decode()
    assert "f does not work" in page
    audit = cast.browser(cast.alice()).get(f"/sessions/{session}/audit/").content.decode()
    for words in ("Plan 1 in force", "Will not run", "Plan completed"):
        assert words in audit


def test_the_agent_is_told_its_plan_with_its_next_request():
    handed(FIRST, SECOND)
    told_plan = model.asked[-1].state["plan"]
    assert (told_plan["version"], told_plan["open"]) == (1, False)
    assert told_plan["stands"] == {"wait": "done", "wait-2": "done"}
    assert told_plan["calls"][0]["_outputPath"] == "state.first"


def test_a_session_that_is_no_part_of_this_one_is_not_waited_for():
    other = told()
    for text in (str(other), "nonsense"):
        session = handed({"_tool": "batch", "_delegate": "batch", "_scopes": [], "session": text})
        assert statuses(session) == {"batch": "failed"}


def test_a_delegate_that_cannot_go_on_or_is_ended_by_a_person_fails_its_call(monkeypatch):
    call = step("wait", "state.answer || state.problem", name="x", _delegate="anonymous", _scopes=[])
    with monkeypatch.context() as patched:
        patched.setattr(Told, "answer", lambda *_, **__: (_ for _ in ()).throw(ModelFailed("no key", transient=False)))
        session = handed(call)
    assert "its task failed: no key" in state(session).pad["problem"]["error"]
    plan_commands.save_plan(cast.alice(), "asks", [step("act", "state.done", name="first")])
    session = handed({**call, "_delegate": "asks"})  # it waits for a person
    conversation_commands.end(
        cast.alice(), UUID(events(session, "call.delegated")[0]["session"]), "not needed any more"
    )
    assert delegates.deliver_due() == 1
    work()
    assert "not needed any more" in state(session).pad["problem"]["error"]
