"""A session that does a call of another: what stops the one stops the other, and what the other did is never forgotten.

On the real runtime: two sessions, a worker, PostgreSQL.
"""

from __future__ import annotations

from uuid import UUID

import pytest

from agentstate.engine import policy as pol
from agentstate.engine.decide.refusals import AlreadyDecided
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state import calls_in
from sessions import commands, queries, rebuild
from sessions.agents import registry
from sessions.commands import grants
from sessions.models import AgentSession, ApprovalRequest, StandingGrant
from sessions.runtime import delegates
from tests import cast
from tests.shell.bank_world import events, kinds, state, work
from tests.shell.side_by_side_world import told
from tests.shell.test_asks_approvals import asked_in, delegated
from tests.shell.test_plans import FIRST, handed, step

pytestmark = pytest.mark.django_db(transaction=True)


def approve(request: queries.RequestLine) -> None:
    commands.decide(cast.bob(), request.id, "approve", seen=request.digest)


def roll_back(session: UUID, to: int) -> None:
    shown = queries.rollback_preview(cast.alice(), session, to)
    commands.roll_back(cast.alice(), session, to, seen=shown.digest, reason="it misheard")


def before_the_plan(session: UUID) -> int:
    return kinds(session).index("plan.committed")


STOPS = {
    "end": lambda session: commands.end(cast.alice(), session, "the customer hung up"),
    "cancel": lambda session: commands.cancel(cast.alice(), session, "it was fraud"),
    "rollback": lambda session: roll_back(session, before_the_plan(session)),
}


@pytest.mark.parametrize("how", STOPS)
def test_what_stops_a_session_for_good_stops_what_does_its_calls(how):
    session, child = delegated()
    request = asked_in(child)
    STOPS[how](session)
    assert AgentSession.objects.get(pk=child).status == "cancelled"
    assert ApprovalRequest.objects.get(pk=request.id).state == "withdrawn"
    with pytest.raises(AlreadyDecided):
        approve(request)
    work()
    assert "tool.intended" not in kinds(child)
    assert rebuild.check(session) == []
    assert rebuild.check(child) == []


def test_an_approval_in_the_other_session_that_has_not_begun_ends_with_it():
    session, child = delegated()
    approve(asked_in(child))  # and no worker has looked yet
    commands.cancel(cast.alice(), session, "it was fraud")
    work()
    assert "tool.intended" not in kinds(child)


def test_a_session_that_does_a_call_of_one_that_does_a_call_ends_with_both():
    named = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    commands.save_plan(cast.alice(), "deep", [step("act", "state.done", name="†input.name")], inputs=named)
    inner = step("wait", "state.x || state.y", name="†input.name", _delegate="deep", _scopes=["input"])
    commands.save_plan(cast.alice(), "middle", [inner], inputs=named)
    outer = step("wait", "state.a || state.b", name="†state.first.name", _delegate="middle", _scopes=["state.first"])
    session = handed(FIRST, outer)
    child = UUID(events(session, "call.delegated")[0]["session"])
    grandchild = UUID(events(child, "call.delegated")[0]["session"])
    assert asked_in(grandchild)
    commands.cancel(cast.alice(), session, "it was fraud")
    assert {AgentSession.objects.get(pk=each).status for each in (session, child, grandchild)} == {"cancelled"}


def test_a_pause_reaches_it_and_ends_with_the_pause_but_one_of_its_own_does_not():
    session, child = delegated()
    commands.pause(cast.alice(), session, "let me look")
    approve(asked_in(child))
    work()
    assert AgentSession.objects.get(pk=child).status == "paused"
    assert "tool.intended" not in kinds(child)
    commands.resume(cast.alice(), session)
    work()
    assert "tool.intended" in kinds(child)

    session, child = delegated()
    commands.pause(cast.alice(), child, "this one alone")
    commands.pause(cast.alice(), session, "let me look")
    commands.resume(cast.alice(), session)
    assert AgentSession.objects.get(pk=child).status == "paused"


def test_a_fork_hands_nothing_over():
    session, _child = delegated()
    handing = step("wait", "state.a || state.b", name="†state.first.name", _delegate="careful", _scopes=["state"])
    fork = commands.fork(cast.alice(), session, seq=before_the_plan(session), reason="what if").session
    commands.propose_plan(cast.alice(), fork, calls=[FIRST, handing])
    work()
    assert "call.delegated" not in kinds(fork)
    assert not AgentSession.objects.filter(parent=fork).exists()
    refused = events(fork, "call.refused")
    assert [each["code"] for each in refused] == ["fork_does_not_act"]


def test_a_promoted_fork_stops_what_its_parent_had_handed_over_and_is_told_what_that_did():
    session, child = delegated()
    approve(asked_in(child))
    work()  # the other session has acted, and has given its result
    fork = commands.fork(cast.alice(), session, seq=before_the_plan(session), reason="what if").session
    commands.promote(cast.alice(), fork, reason="the better way")
    (promoted,) = events(fork, "fork.promoted")
    (effect,) = promoted["lasting"]
    assert (effect["tool"], effect["outcome"], effect["session"]) == ("act", "done", str(child))
    assert "never do it again" in promoted["note"]

    session, child = delegated()
    fork = commands.fork(cast.alice(), session, seq=before_the_plan(session), reason="what if").session
    commands.promote(cast.alice(), fork, reason="the better way")
    assert AgentSession.objects.get(pk=child).status == "cancelled"


def test_a_rollback_names_what_the_other_session_did():
    session, child = delegated()
    approve(asked_in(child))
    work()
    shown = queries.rollback_preview(cast.alice(), session, before_the_plan(session))
    assert [(each.tool, each.outcome, each.session) for each in shown.since.lasting] == [("act", "done", str(child))]
    roll_back(session, before_the_plan(session))
    (entry,) = events(session, "session.rolled_back")
    assert "never do it again" in entry["note"]
    assert state(session).calls == {} or not calls_in(state(session), CallStatus.RUNNING)


def test_what_was_rejected_before_is_refused_in_the_other_session_without_asking_again():
    """A person said no to exactly this call in the session; the session that does its next call may not ask again."""
    session = told()
    commands.propose_plan(cast.alice(), session, calls=[step("act", "state.done", name="first")])
    work()
    request = asked_in(session)
    commands.decide(cast.alice(), request.id, "reject", reason="not this one", seen=request.digest)
    work()
    commands.save_plan(cast.alice(), "again", [step("act", "state.done", name="first")])
    again = step("wait", "state.a || state.b", name="x", _delegate="again", _scopes=[])
    commands.propose_plan(cast.alice(), session, calls=[again])
    work()
    child = UUID(events(session, "call.delegated")[0]["session"])
    assert [each["code"] for each in events(child, "call.refused")] == ["refused_before"]
    assert not ApprovalRequest.objects.filter(session=child).exists()


def test_what_was_rejected_and_set_going_there_counts_in_the_session_that_asked():
    session, child = delegated()
    before = dict(state(session).tally.calls)
    request = asked_in(child)
    approve(request)
    work()
    delegates.deliver_due()
    after = state(session).tally.calls
    assert after.get("act", 0) == before.get("act", 0) + 1

    session, child = delegated()
    request = asked_in(child)
    commands.decide(cast.alice(), request.id, "reject", reason="not this one", seen=request.digest)
    work()
    delegates.deliver_due()
    assert set(state(child).refused) <= set(state(session).refused)
    assert state(child).refused
    assert rebuild.check(session) == []


def test_a_rollback_ends_the_standing_approvals_that_were_given_in_the_other_session(monkeypatch):
    """Those for the agent: they would outlive the session whose call it did."""
    offer = pol.Sticky("agent", 3600, 3, "")
    rule = pol.Rule("acts", ("act",), "true", 2, "approve", "It acts.", sticky=offer)
    free = pol.Rule("rest", ("*",), "true", 0, "allow", "It reads.")
    monkeypatch.setattr(registry, "policy_named", lambda name: pol.Policy("bank", 9, (rule, free)))
    session, child = delegated()
    request = asked_in(child)
    approve(request)
    grants.grant_same(cast.bob(), child, request.id)
    (row,) = StandingGrant.objects.all()
    roll_back(session, before_the_plan(session))
    (entry,) = events(session, "grant.revoked")
    assert (entry["grant"], entry["reason"]) == (str(row.pk), "taken back by a rollback")
    assert StandingGrant.objects.get(pk=row.pk).rolled_back
