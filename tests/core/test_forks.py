"""Forks: a copy with a log of its own that reads and drafts, and speaks and acts only once it is promoted."""

from __future__ import annotations

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.advance import Nothing, next_action
from agentstate.engine.decide.forks import NotAFork
from agentstate.engine.decide.interventions import ways
from agentstate.engine.decide.refusals import ForkMaySayNothing, SessionOver
from agentstate.engine.decide.versions import NoSuchPoint
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, SessionStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import SessionState, pending, remembered_by
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.versions.effects import Since, since
from tests.core import worlds
from tests.core.test_versions import TOOLS, at, intervened, stuck
from tests.core.worlds import World, proposed, transfer


def fork(parent: World, seq: int = -1) -> World:
    """A fork of `parent` as it stands, or as it stood."""
    seq = parent.state.seq if seq == -1 else seq
    return World(seconds=500).after(core.Fork("parent", seq, "user:sue", "what if", at(parent, seq)))


def test_a_fork_is_of_the_same_customer_and_begins_where_its_parent_stood():
    parent = worlds.authorized()
    child = fork(parent)
    assert child.state.opened is not None
    assert child.state.opened.customer == "C-1"
    assert child.state.pad == parent.state.pad
    assert [item.text for item in child.state.items] == [item.text for item in parent.state.items]
    assert all(item.seq < 0 for item in child.state.items)
    origin = child.state.versions.origin
    assert origin is not None
    assert (origin.parent, origin.seq, origin.promoted) == ("parent", parent.state.seq, "")


def test_a_fork_takes_no_request_permit_or_timer():
    parent = worlds.waiting()
    child = fork(parent)
    assert not child.state.requests
    assert child.call("transfer").status is CallStatus.WITHDRAWN
    assert child.call("transfer").approved == ""
    assert child.state.model_retry_at == ""
    assert pending(parent.state)  # the parent's still waits


def test_what_its_agent_says_is_a_draft():
    child = fork(worlds.opened()).asked(text="Done!")
    assert child.events(ev.MessageDrafted)[0].text == "Done!"
    assert not child.events(ev.MessageAdded)
    assert child.state.items[-1].role == "agent"
    with pytest.raises(ForkMaySayNothing):
        child.after(core.BargeIn("Hello", "user:sue"))


def test_it_may_read_and_does_not_act():
    child = fork(worlds.authorized()).asked(proposed("load_customer", "state.customer"), transfer(40_000))
    assert child.call("load_customer").status is CallStatus.READY
    assert child.call("transfer").status is CallStatus.REFUSED
    (refused,) = child.events(ev.CallRefused)
    assert refused.code == "fork_does_not_act"
    assert "it would have run" in refused.reason


def test_nobody_is_asked_for_what_it_will_not_do():
    child = fork(worlds.authorized()).asked(transfer(100_000))
    assert not pending(child.state)
    assert "a person would have been asked (tier 2)" in child.events(ev.CallRefused)[0].reason


def promoted(child: World, *heard: ev.Heard, **more: object) -> World:
    return child.after(core.Promote("user:sue", "the better way", 20, heard, **more))  # type: ignore[arg-type]


def test_a_promoted_fork_speaks_acts_and_has_heard_what_was_said():
    child = promoted(fork(worlds.authorized()), ev.Heard("customer", "Are you there?", "customer"))
    assert [item.text for item in child.state.items if item.role == "customer"][-1] == "Are you there?"
    assert child.state.owes
    spoken = child.asked(transfer(40_000), text="Yes.")
    assert spoken.events(ev.MessageAdded)[0].text == "Yes."
    assert spoken.call("transfer").status is CallStatus.READY


def test_promotion_ends_by_name_the_standing_approvals_that_were_given_in_the_parent_since():
    child = promoted(fork(worlds.authorized()), since=Since(approvals=("one", "two")))
    ended = [(each.grant, each.by, each.reason) for each in child.events(ev.GrantRevoked)]
    why = "taken back by the promotion of a fork"
    assert ended == [("one", "user:sue", why), ("two", "user:sue", why)]
    assert promoted(fork(worlds.authorized())).events(ev.GrantRevoked) == []


def test_a_fork_is_promoted_once_and_only_a_fork():
    with pytest.raises(NotAFork):
        promoted(promoted(fork(worlds.authorized())))
    with pytest.raises(NotAFork):
        promoted(worlds.authorized())


def test_the_parent_ends_with_the_fork_named_and_nothing_waiting():
    parent = worlds.waiting().after(core.Supersede("child", "user:sue", "the better way"))
    assert parent.state.status is SessionStatus.DONE
    assert parent.state.versions.superseded_by == "child"
    assert not pending(parent.state)
    with pytest.raises(SessionOver):
        parent.after(core.Say("customer", "Hello?", "customer"))
    with pytest.raises(SessionOver):
        parent.after(core.Supersede("another", "user:sue", "me too"))


def test_a_fork_of_a_fork_waits_for_its_parent():
    with pytest.raises(NotAFork, match="promote that one first"):
        fork(worlds.opened()).after(core.Supersede("grandchild", "user:sue", "deeper"))


def test_a_fork_at_rest_rests():
    parent = worlds.opened().asked(text="What can I do?").after(core.Rest("customer"))
    child = fork(parent)
    assert next_action(child.state, stamp(child.given.at)) == Nothing("customer")


def test_a_fork_is_the_fold_of_its_own_log():
    child = promoted(fork(worlds.waiting()).asked(text="Hm."))
    stored = [(ev.decode(ev.encode(event)), when) for event, when in child.history]
    assert fold(stored) == child.state
    assert from_snapshot(to_snapshot(child.state)) == child.state


def test_a_fork_needs_a_state_that_was_open():
    with pytest.raises(NoSuchPoint):
        World().after(core.Fork("parent", 0, "user:sue", "what if", SessionState()))


def test_a_promoted_fork_counts_what_its_parent_moved_today():
    parent = worlds.authorized()
    child = fork(parent)
    parent = parent.asked(transfer(15_000))
    parent = parent.ran(parent.call("transfer"), {"receipt": "TR-1"})
    child = promoted(child, remembered=remembered_by(parent.state))
    assert child.state.tally == parent.state.tally


def test_what_a_person_rejected_in_the_parent_is_refused_in_the_promoted_fork():
    parent = worlds.waiting()
    child = fork(parent, parent.state.seq - 1)
    parent = parent.after(worlds.decision(parent, "reject", "sue"))
    child = promoted(child, remembered=remembered_by(parent.state)).asked(transfer(100_000))
    assert child.events(ev.CallRefused)[-1].code == "refused_before"
    assert child.state.refusals == 1


def test_a_call_that_its_parent_did_meanwhile_is_done_in_the_promoted_fork():
    parent = stuck()
    child = fork(parent)
    call = child.call("transfer")
    assert "retry" in ways(child.state, call)
    parent = intervened(parent, "retry")
    parent = parent.ran(parent.call("transfer"), {"receipt": "TR-1"})
    older = at(parent, child.state.versions.origin.seq)  # type: ignore[union-attr]
    effects = since(older, list(enumerate(event for event, _ in parent.history))[older.seq :], TOOLS)
    child = promoted(child, since=effects)
    assert child.call("transfer").status is CallStatus.DONE
    assert ways(child.state, child.call("transfer")) == ()


def test_a_fork_hands_no_call_to_a_session_that_would_act():
    child = fork(worlds.authorized())
    call = {"_tool": "load_customer", "_delegate": "anonymous", "_scopes": ["state"], "customer": "C-1"}
    child = child.after(core.ProposePlan((call,), "user:sue"))
    child = child.after(core.Begin(child.state.plans.ready[0]))
    assert child.events(ev.CallRefused)[-1].code == "fork_does_not_act"
    assert not child.events(ev.ToolIntended)
