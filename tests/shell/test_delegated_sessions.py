"""A session that does a call of another: what stops the one stops the other, and what the other did is never forgotten.

On the real runtime: two sessions, a worker, PostgreSQL.
"""

from __future__ import annotations

from uuid import UUID

import msgspec
import pytest

from agentstate.engine import policy as pol
from agentstate.engine.decide.refusals import AlreadyDecided
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.looping.settings import Delegates
from agentstate.engine.state.session import calls_in
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import AgentSession, ApprovalRequest, StandingGrant
from sessions.plans import commands as plans_commands
from sessions.runtime import delegates
from sessions.standing_approvals import commands as grants
from sessions.supervision import commands as supervision_commands
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import events, kinds, refused_codes, state, work
from tests.shell.side_by_side_world import told
from tests.shell.test_asks_approvals import asked_in, delegated
from tests.shell.test_plans import FIRST, handed, step

pytestmark = pytest.mark.django_db(transaction=True)


def approve(request: approvals_queries.RequestLine) -> None:
    approvals_commands.decide(cast.bob(), request.id, approvals_commands.Decision("approve", seen=request.digest))


def roll_back(session: UUID, to: int) -> None:
    shown = versions_queries.rollback_preview(cast.alice(), session, to)
    versions_commands.roll_back(cast.alice(), session, to, seen=shown.digest, reason="it misheard")


def before_the_plan(session: UUID) -> int:
    return kinds(session).index("plan.committed")


STOPS = {
    "end": lambda session: conversation_commands.end(cast.alice(), session, "the customer hung up"),
    "cancel": lambda session: conversation_commands.cancel(cast.alice(), session, "it was fraud"),
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
    conversation_commands.cancel(cast.alice(), session, "it was fraud")
    work()
    assert "tool.intended" not in kinds(child)


def delegated_twice() -> tuple[UUID, UUID, UUID]:
    """A session, the one that does its call, and the one that does a call of that."""
    named = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    plans_commands.save_plan(cast.alice(), "deep", [step("act", "state.done", name="†input.name")], inputs=named)
    inner = step("wait", "state.x || state.y", name="†input.name", _delegate="deep", _scopes=["input"])
    plans_commands.save_plan(cast.alice(), "middle", [inner], inputs=named)
    outer = step("wait", "state.a || state.b", name="†state.first.name", _delegate="middle", _scopes=["state.first"])
    session = handed(FIRST, outer)
    child = UUID(events(session, "call.delegated")[0]["session"])
    grandchild = UUID(events(child, "call.delegated")[0]["session"])
    return session, child, grandchild


def test_a_session_that_does_a_call_of_one_that_does_a_call_ends_with_both():
    session, child, grandchild = delegated_twice()
    assert asked_in(grandchild)
    conversation_commands.cancel(cast.alice(), session, "it was fraud")
    assert {AgentSession.objects.get(pk=each).status for each in (session, child, grandchild)} == {"cancelled"}


def test_a_pause_reaches_it_and_ends_with_the_pause_but_one_of_its_own_does_not():
    session, child = delegated()
    conversation_commands.pause(cast.alice(), session, "let me look")
    approve(asked_in(child))
    work()
    assert AgentSession.objects.get(pk=child).status == "paused"
    assert "tool.intended" not in kinds(child)
    conversation_commands.resume(cast.alice(), session)
    work()
    assert "tool.intended" in kinds(child)

    session, child = delegated()
    conversation_commands.pause(cast.alice(), child, "this one alone")
    conversation_commands.pause(cast.alice(), session, "let me look")
    conversation_commands.resume(cast.alice(), session)
    assert AgentSession.objects.get(pk=child).status == "paused"


def test_a_call_that_was_rolled_back_while_it_was_handed_over_is_done_by_no_other_session(monkeypatch):
    codes, task = refused_codes(monkeypatch, delegates, "together"), delegates._task

    def rolled_back_meanwhile(session, *words):
        made = task(session, *words)
        roll_back(session, before_the_plan(session))
        return made

    monkeypatch.setattr(delegates, "_task", rolled_back_meanwhile)
    session = handed(FIRST, step("wait", "state.answer", name="†state.first.name", _delegate="anonymous"))
    assert codes == ["nobody_waits"]
    assert "call.delegated" not in kinds(session)
    assert not AgentSession.objects.filter(parent=session).exists()


def test_a_fork_hands_nothing_over():
    session, _child = delegated()
    handing = step("wait", "state.a || state.b", name="†state.first.name", _delegate="careful", _scopes=["state"])
    fork = versions_commands.fork(cast.alice(), session, seq=before_the_plan(session), reason="what if").session
    plans_commands.propose_plan(cast.alice(), fork, calls=[FIRST, handing])
    work()
    assert "call.delegated" not in kinds(fork)
    assert not AgentSession.objects.filter(parent=fork).exists()
    refused = events(fork, "call.refused")
    assert [each["code"] for each in refused] == ["fork_does_not_act"]


def test_a_promoted_fork_stops_what_its_parent_had_handed_over_and_is_told_what_that_did():
    session, child = delegated()
    approve(asked_in(child))
    work()  # the other session has acted, and has given its result
    fork = versions_commands.fork(cast.alice(), session, seq=before_the_plan(session), reason="what if").session
    versions_commands.promote(cast.alice(), fork, reason="the better way")
    (promoted,) = events(fork, "fork.promoted")
    (effect,) = promoted["lasting"]
    assert (effect["tool"], effect["outcome"], effect["session"]) == ("act", "done", str(child))
    assert "never do it again" in promoted["note"]

    session, child = delegated()
    fork = versions_commands.fork(cast.alice(), session, seq=before_the_plan(session), reason="what if").session
    versions_commands.promote(cast.alice(), fork, reason="the better way")
    assert AgentSession.objects.get(pk=child).status == "cancelled"


def test_a_rollback_names_what_the_other_session_did():
    session, child = delegated()
    approve(asked_in(child))
    work()
    shown = versions_queries.rollback_preview(cast.alice(), session, before_the_plan(session))
    assert [(each.tool, each.outcome, each.session) for each in shown.since.lasting] == [("act", "done", str(child))]
    roll_back(session, before_the_plan(session))
    (entry,) = events(session, "session.rolled_back")
    assert "never do it again" in entry["note"]
    assert state(session).calls == {} or not calls_in(state(session), CallStatus.RUNNING)


def test_what_was_rejected_before_is_refused_in_the_other_session_without_asking_again():
    """A person said no to exactly this call in the session; the session that does its next call may not ask again."""
    session = told()
    plans_commands.propose_plan(cast.alice(), session, calls=[step("act", "state.done", name="first")])
    work()
    request = asked_in(session)
    approvals_commands.decide(
        cast.alice(), request.id, approvals_commands.Decision("reject", reason="not this one", seen=request.digest)
    )
    work()
    plans_commands.save_plan(cast.alice(), "again", [step("act", "state.done", name="first")])
    again = step("wait", "state.a || state.b", name="x", _delegate="again", _scopes=[])
    plans_commands.propose_plan(cast.alice(), session, calls=[again])
    work()
    child = UUID(events(session, "call.delegated")[0]["session"])
    assert [each["code"] for each in events(child, "call.refused")] == ["refused_before"]
    assert not ApprovalRequest.objects.filter(session=child).exists()


def test_what_was_rejected_and_set_going_there_counts_in_the_session_that_asked_at_once():
    session, child = delegated()
    before = dict(state(session).tally.calls)
    request = asked_in(child)
    approve(request)
    work()
    assert state(session).tally.calls.get("act", 0) == before.get("act", 0) + 1
    delegates.deliver_due()
    assert state(session).tally.calls.get("act", 0) == before.get("act", 0) + 1
    assert rebuild.check(session) == []

    session, child = delegated()
    request = asked_in(child)
    approvals_commands.decide(
        cast.alice(), request.id, approvals_commands.Decision("reject", reason="not this one", seen=request.digest)
    )
    assert state(child).refused
    assert set(state(child).refused) <= set(state(session).refused)
    assert state(session).refusals == state(child).refusals
    assert rebuild.check(session) == []
    assert rebuild.check(child) == []


def test_a_take_over_of_the_session_reaches_it_until_it_is_handed_back():
    session, child = delegated()
    supervision_commands.take_over(cast.alice(), session, reason="let me look")
    approve(asked_in(child))
    work()
    assert AgentSession.objects.get(pk=child).status == "paused"
    assert "tool.intended" not in kinds(child)
    supervision_commands.hand_back(cast.alice(), session, summary="go on")
    work()
    assert "tool.intended" in kinds(child)


def offering(monkeypatch) -> None:
    """The rules offer a standing approval for the agent: it would outlive the session whose call it did."""
    offer = pol.Sticky("agent", 3600, 3, "")
    rule = pol.Rule("acts", ("act",), "true", 2, "approve", "It acts.", sticky=offer)
    free = pol.Rule("rest", ("*",), "true", 0, "allow", "It reads.")
    monkeypatch.setattr(registry, "policy_named", lambda name: pol.Policy("bank", 9, (rule, free)))


def granted_in(child: UUID) -> StandingGrant:
    request = asked_in(child)
    approve(request)
    grants.grant_same(cast.bob(), child, request.id)
    return StandingGrant.objects.get()


TAKEN_BACK = {"rollback": "taken back by a rollback", "promotion": "taken back by the promotion of a fork"}


def take_back(how: str, session: UUID) -> UUID:
    """The session that goes on from before the plan: the same, or its fork."""
    if how == "rollback":
        roll_back(session, before_the_plan(session))
        return session
    fork = versions_commands.fork(cast.alice(), session, seq=before_the_plan(session), reason="what if").session
    versions_commands.promote(cast.alice(), fork, reason="the better way")
    return fork


@pytest.mark.parametrize("how", TAKEN_BACK)
def test_the_standing_approvals_that_were_given_in_the_other_session_end_with_the_part_of_its_call(how, monkeypatch):
    offering(monkeypatch)
    session, child = delegated()
    row = granted_in(child)
    (entry,) = events(take_back(how, session), "grant.revoked")
    assert (entry["grant"], entry["reason"]) == (str(row.pk), TAKEN_BACK[how])
    assert StandingGrant.objects.get(pk=row.pk).rolled_back


def test_a_rollback_ends_them_where_the_other_session_is_of_another_customer_and_tells_nothing_of_it(monkeypatch):
    offering(monkeypatch)
    session = told()
    plans_commands.save_plan(cast.alice(), "careful", [step("act", "state.done", name="x")])
    call = step("wait", "state.a || state.b", name="†input.name", _delegate="careful", _scopes=["input"])
    members = [{"name": "one", "subject": "C-70001", "inputs": {"name": "Annabellina"}}]
    plans_commands.propose_plan(cast.alice(), session, calls=[call], instances=members)
    work()
    child = AgentSession.objects.get(parent=session)
    assert child.kid != AgentSession.objects.get(pk=session).kid
    row = granted_in(child.pk)
    work()
    shown = versions_queries.rollback_preview(cast.alice(), session, before_the_plan(session))
    assert (shown.since.lasting, shown.since.more, shown.since.approvals) == ((), 1, (str(row.pk),))
    roll_back(session, before_the_plan(session))
    (entry,) = events(session, "grant.revoked")
    assert (entry["grant"], entry["reason"]) == (str(row.pk), "taken back by a rollback")
    assert StandingGrant.objects.get(pk=row.pk).rolled_back


def test_what_it_uses_comes_out_of_the_budget_of_the_session_above_all_others():
    session, child, grandchild = delegated_twice()
    assert set(state(session).loop.shares) == {str(child), str(grandchild)}
    assert state(session).loop.opened == 2
    assert state(child).loop.shares == {}
    assert state(grandchild).loop.share.steps > 0
    conversation_commands.cancel(cast.alice(), grandchild, "enough")
    delegates.deliver_due()
    work()
    delegates.deliver_due()
    assert state(session).loop.shares == {}
    used = [state(each).loop.session.steps for each in (child, grandchild)]
    own = len(events(session, "model.requested"))
    assert state(session).loop.session.steps == own + sum(used)
    assert rebuild.check(session) == []


def test_a_call_for_one_delegate_too_many_is_refused_by_name_and_no_session_is_opened(monkeypatch):
    told_agent = registry.find("told")
    none = msgspec.structs.replace(told_agent.loop, delegates=Delegates(opened=0))
    monkeypatch.setitem(registry._registry, "told", msgspec.structs.replace(told_agent, loop=none))
    session = handed(step("wait", "state.answer", name="x", _delegate="anonymous", _scopes=[]))
    assert [each["code"] for each in events(session, "call.refused")] == ["family_full"]
    assert not AgentSession.objects.filter(parent=session).exists()
