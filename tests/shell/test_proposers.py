"""Who wrote a value, saved a plan, or spoke as the customer in a parent does not approve: on the real runtime."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.urls import reverse

from agentstate.engine.decide.refusals import DecisionNotAllowed
from agentstate.engine.merge.three_way import PathChange
from agentstate.people.commands import grant_role
from agentstate.people.models import User
from agentstate.people.roles import Role
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.descriptions import approvals
from sessions.plans import commands as plans_commands
from sessions.state import commands as state_commands
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import events, kinds, say, state, work
from tests.shell.side_by_side_world import proposed, told
from tests.shell.test_plans import FIRST, step

pytestmark = pytest.mark.django_db(transaction=True)

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def sam() -> User:
    return cast.person("sam", Role.SUPERVISOR, cast.retail())


def speaker(session: UUID) -> User:
    """A supervisor who has spoken as the customer in a session."""
    dora = cast.person("dora", Role.SUPERVISOR, cast.retail())
    grant_role(dora, cast.retail(), Role.CALLER, None)
    conversation_commands.say(dora, session, "This is the customer's husband.")
    work()
    return dora


def asked(session: UUID) -> dict[str, Any]:
    """The newest request of a session, as its entry has it."""
    return events(session, "approval.requested")[-1]


def refused(session: UUID, why: str) -> None:
    """Alice may not approve the newest request, and bob may."""
    request, digest = UUID(asked(session)["request"]), asked(session)["digest"]
    with pytest.raises(DecisionNotAllowed, match=why):
        approvals_commands.decide(cast.alice(), request, approvals_commands.Decision("approve", seen=digest))
    approvals_commands.decide(cast.bob(), request, approvals_commands.Decision("approve", seen=digest))
    work()
    assert kinds(session).count("tool.intended")
    assert rebuild.check(session) == []


def test_who_changed_a_value_that_the_agents_call_reads_does_not_approve_the_call(client):
    session = told((proposed("act", "†state.payee.name", _outputPath="state.done"),))
    change = [PathChange("state.payee.name", "Eve")]
    state_commands.change_state(cast.alice(), session, seen=len(kinds(session)), changes=change)
    say(session, "Go.")
    assert asked(session)["arguments"]["name"] == "Eve"
    agent, by = asked(session)["proposed_by"]
    assert (agent.partition(":")[0], by) == ("agent", cast.alice().actor)
    sentence = f"Proposed by the agent, with values that {cast.alice().display_name} wrote."
    client.force_login(cast.bob())
    assert sentence in client.get(reverse("decision", args=[asked(session)["request"]])).content.decode()
    assert Api(cast.bob()).get(f"/requests/{asked(session)['request']}").json()["proposed_by"] == [agent, by]
    assert approvals.proposed([agent, by], {by: "Alice"}) == "Proposed by the agent, with values that Alice wrote."
    refused(session, "you wrote a value that it reads")


def test_who_saved_any_version_of_a_plan_does_not_approve_its_calls():
    plans_commands.save_plan(cast.alice(), "pay", [step("act", "state.done", name="someone")])
    saved = plans_commands.save_plan(sam(), "pay", [step("act", name="X")])
    later = plans_commands.save_plan(cast.bob(), "pay", [step("act", name="Y")])
    assert (saved.reference, later.reference) == ("pay@2", "pay@3")
    session = told()
    plans_commands.propose_plan(sam(), session, saved="pay@2")
    work()
    assert set(asked(session)["proposed_by"]) == {cast.alice().actor, sam().actor}
    refused(session, "you proposed it")


def test_a_delegate_leaves_out_who_saved_its_plan_and_who_spoke_as_the_customer_in_its_parent():
    plans_commands.save_plan(cast.alice(), "careful", [step("act", "state.done", name="†input.name")], inputs=NAMED)
    call = step("wait", "state.x || state.y", name="†state.first.name", _delegate="careful", _scopes=["state.first"])
    session = told()
    dora = speaker(session)
    plans_commands.propose_plan(sam(), session, calls=[FIRST, call])
    work()
    child = UUID(events(session, "call.delegated")[0]["session"])
    assert state(child).involved.customer == state(session).involved.customer
    assert dora.actor in events(child, "task.taken")[0]["customers"]
    assert asked(child)["proposed_by"] == [cast.alice().actor, sam().actor]
    with pytest.raises(DecisionNotAllowed, match="spoke as the customer"):
        approvals_commands.decide(
            dora, UUID(asked(child)["request"]), approvals_commands.Decision("approve", seen=asked(child)["digest"])
        )
    refused(child, "you proposed it")


def test_who_wrote_a_value_in_a_delegate_does_not_approve_the_call_of_its_parent_that_reads_the_result():
    calls = [step("wait", "state.payee", name="Ann"), step("act", "state.done", name="x")]
    plans_commands.save_plan(sam(), "careful", calls, output={"payee": "†state.payee.name"})
    session = told()
    handed_over = step("wait", "state.answer || state.problem", name="x", _delegate="careful", _scopes=[])
    plans_commands.propose_plan(sam(), session, calls=[handed_over, step("act", name="†state.answer.output.payee")])
    work()
    child = UUID(events(session, "call.delegated")[0]["session"])
    change = [PathChange("state.payee.name", "Eve")]
    state_commands.change_state(cast.alice(), child, seen=len(kinds(child)), changes=change)
    approvals_commands.decide(
        cast.bob(), UUID(asked(child)["request"]), approvals_commands.Decision("approve", seen=asked(child)["digest"])
    )
    work()
    assert asked(session)["arguments"]["name"] == "Eve"
    assert asked(session)["proposed_by"] == [sam().actor, cast.alice().actor]
    refused(session, "you proposed it|you wrote a value that it reads")


def test_a_delegate_leaves_out_who_speaks_as_the_customer_in_its_parent_after_it_asked():
    plans_commands.save_plan(cast.alice(), "careful", [step("act", "state.done", name="†input.name")], inputs=NAMED)
    call = step("wait", "state.x || state.y", name="†state.first.name", _delegate="careful", _scopes=["state.first"])
    session = told()
    plans_commands.propose_plan(sam(), session, calls=[FIRST, call])
    work()
    child = UUID(events(session, "call.delegated")[0]["session"])
    request, digest = UUID(asked(child)["request"]), asked(child)["digest"]
    cast.bob()
    for _ in range(2):
        dora = speaker(session)
    assert [each["customers"] for each in events(child, "task.customers_added")] == [[dora.actor]]
    assert approvals_queries.request_line(dora, request).why_not.startswith("You spoke as the customer")
    with pytest.raises(DecisionNotAllowed, match="spoke as the customer"):
        approvals_commands.decide(dora, request, approvals_commands.Decision("approve", seen=digest))
    page = cast.browser(cast.bob()).get(reverse("session_audit", args=[child])).content.decode()
    assert "1 person wrote as the customer in the requesting session" in page
    approvals_commands.decide(cast.bob(), request, approvals_commands.Decision("approve", seen=digest))
    work()
    assert kinds(child).count("tool.intended") == 1
    assert rebuild.check(child) == []


def test_a_part_of_a_batch_leaves_out_who_spoke_as_the_customer_in_its_parent(monkeypatch):
    monkeypatch.setattr("sessions.plans.commands.MAX_INSTANCES", 1)
    session = told()
    dora = speaker(session)
    members = [{"name": name, "inputs": {}} for name in ("a", "b")]
    plans_commands.propose_plan(cast.alice(), session, calls=[step("act", name="X")], instances=members)
    work()
    child = UUID(events(session, "plan.committed")[-1]["calls"][0]["session"])
    assert dora.actor in state(child).involved.customer
