"""What the approval of a plan covers, on the real runtime: people, instances and values."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.urls import reverse

from agentstate.clock import now
from agentstate.engine import policy as pol
from agentstate.engine.decide import Begin
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.state.session import Request, pending
from agentstate.people import commands as people
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.core.commit import run_commands
from sessions.core.commit import step as one
from sessions.core.committed import Lease
from sessions.models.sessions import AgentSession
from sessions.plans import commands as plans_commands
from sessions.state import commands as state_commands
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import events, kinds, state, work
from tests.shell.side_by_side_world import model, ran, told
from tests.shell.test_instance_subjects import ANN, ANNS, kid, kinds_under
from tests.shell.test_plans import step

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
ACT = step("act", "state.done", name="†state.first.name")
__all__ = ["model"]


@pytest.fixture(autouse=True)
def looked_at(monkeypatch):
    """Plans are approved as a whole by a person."""
    policy = registry.policy_named("bank")
    rule = pol.Rule("plans", ("plan",), "true", 2, "approve", "Plans are looked at.")
    looked = msgspec.structs.replace(policy, rules=(*policy.rules, rule))
    monkeypatch.setattr(registry, "policy_named", lambda *_: looked)


def waiting(session: UUID) -> Request:
    (request,) = pending(state(session))
    return request


def committed(session: UUID, by: Any) -> None:
    """The plan approved by `by` and in force; none of its calls has begun."""
    request = waiting(session).asked
    line = approvals_queries.request_line(by, UUID(request.request))
    approvals_commands.decide(by, line.id, approvals_commands.Decision("approve", seen=line.digest))
    fence = AgentSession.objects.get(pk=session).fence
    run_commands(Lease(session, fence), [one(Begin(request.call))])
    AgentSession.objects.filter(pk=session).update(lease_until=None, ready_at=now())


def changed(session: UUID, path: str, value: Any) -> None:
    """The state as alice has changed it."""
    state_commands.change_state(cast.alice(), session, seen=len(kinds(session)), changes=[PathChange(path, value)])


def test_a_persons_change_between_approval_and_call_is_asked_about_and_named_on_the_page():
    session = told()
    changed(session, "state.first", {"name": "as approved"})
    plans_commands.propose_plan(cast.alice(), session, calls=[ACT])
    committed(session, cast.bob())
    changed(session, "state.first", {"name": "another"})
    work()
    assert ran.names == []
    asked = waiting(session).asked
    assert asked.why.startswith("state.first.name was changed after the plan was approved.")
    page = cast.browser(cast.bob()).get(reverse("decision", args=[asked.request])).content.decode()
    assert "state.first.name was changed by" in page
    assert cast.alice().display_name in page.partition("state.first.name was changed by")[2][:500]
    assert rebuild.check(session) == []


def test_what_was_approved_with_the_plan_runs_without_being_asked_about():
    session = told()
    changed(session, "state.first", {"name": "as approved"})
    plans_commands.propose_plan(cast.alice(), session, calls=[ACT])
    committed(session, cast.bob())
    work()
    assert ran.names == ["as approved"]
    assert events(session, "tool.intended")[0]["request"]


def test_who_approved_the_plan_and_lost_the_right_stands_behind_none_of_its_calls():
    session = told()
    plans_commands.propose_plan(cast.alice(), session, calls=[step("act", "state.done", name="x")])
    committed(session, cast.bob())
    people.remove_role(cast.bob(), cast.retail(), cast.Role.SUPERVISOR, None)
    work()
    assert ran.names == []
    assert waiting(session).asked.why.startswith("Who approved the plan may not decide it any more.")


def test_the_card_of_a_plan_shows_what_its_instances_are_given_and_those_of_others_stay_under_their_key():
    session = told()
    own, other = {"name": "mine", "inputs": {"name": "Own"}}, {"name": "one", "inputs": {"name": ANNS}, "subject": ANN}
    calls = [step("act", "state.done", name="†input.name")]
    plans_commands.propose_plan(cast.alice(), session, calls=calls, instances=[own, other])
    assert kinds_under(session, kid(ANN)) == {"plan.instance_proposed": 1}
    asked = waiting(session).asked
    assert asked.arguments["members"][0]["inputs"] == {"name": "Own"}
    assert set(asked.arguments["members"][1]) == {"digest"}
    page = cast.browser(cast.bob()).get(reverse("decision", args=[asked.request])).content.decode()
    assert "Own" in page
    assert ANNS not in page
    committed(session, cast.bob())
    assert kinds_under(session, kid(ANN)) == {"plan.instance_proposed": 1, "plan.instance_opened": 1}
    work()
    assert sorted(ran.names) == sorted(["Own", ANNS])
    assert rebuild.check(session) == []
