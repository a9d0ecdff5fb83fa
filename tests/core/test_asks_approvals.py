"""What users of other systems ask for or complain of, about pausing, safety, editing, clocks, reviewers: a test each.

The table in docs/approvals.md says which ask each answers; what needs a database is in shell/test_asks_approvals.py.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.advance import Nothing, RunCall, next_action, next_actions
from agentstate.engine.decide import (
    AlreadyDecided,
    DecisionNotAllowed,
    Outdated,
    SessionOver,
    SessionPaused,
    UnknownRequest,
)
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.state.session import pending
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Invalid, Refused
from demo.bank_agent import agent as _bank  # noqa: F401  (its agent is registered)
from sessions.agents import definition, registry
from tests.core import worlds
from tests.core.laws import told_well
from tests.core.test_approval_explorer import ALLOW, NAMES, decides, rule, start
from tests.core.test_versions import rollback
from tests.core.worlds import AUTHORIZE, START, World, decision, edit, transfer, waiting


def two() -> World:
    """Two transfers of one answer wait, both with the id that the model gave them."""
    return worlds.authorized().asked(transfer(100_000), transfer(200_000))


def decide_on(world: World, number: int, kind: str, by: str = "sue", **more: object) -> World:
    request = pending(world.state)[number]
    fields: dict[str, object] = {"reason": "because", "seen": request.asked.digest, **more}
    return world.after(core.Decide(request.asked.request, kind, by, worlds.MAY[by], **fields))  # type: ignore[arg-type]


def stored(world: World) -> World:
    """The same session as another process reads it."""
    return replace(world, state=from_snapshot(to_snapshot(world.state)))


def intents(world: World) -> list[ev.ToolIntended]:
    return [event for event in world.events(ev.ToolIntended) if event.tool == "transfer"]


def run(world: World) -> World:
    call = world.call("transfer")
    return world.after(core.Begin(call.id), core.Return(call.id, call.attempt + 1, {"receipt": "r"}))


def test_a_review_in_a_loop_repeats_no_call_and_no_write():
    world = run(waiting().after(decision(waiting(), "approve", "sue")))
    assert len(intents(world)) == 1
    assert [event.attempt for event in world.events(ev.ToolIntended) if event.tool == "authorize"] == [1]


def test_what_was_answered_beside_what_still_waits_is_not_asked_again():
    world = decide_on(two(), 0, "approve")
    assert len(world.events(ev.ApprovalRequested)) == 2
    assert len(pending(world.state)) == 1
    again = world.after(core.Begin(next(iter(call.id for call in world.state.calls.values() if call.approved))))
    assert len(again.events(ev.ApprovalRequested)) == 2


def test_two_calls_paused_together_have_ids_of_their_own_and_the_answer_reaches_the_right_one():
    world = two()
    first, second = (request.asked for request in pending(world.state))
    assert first.request != second.request
    assert first.call != second.call
    world = decide_on(world, 1, "approve")
    allowed = [call.arguments["amount"]["minor"] for call in world.state.calls.values() if call.approved]
    assert allowed == [200_000]


def test_a_request_is_not_answered_twice_with_different_values():
    world = waiting()
    done = world.after(decision(world, "approve", "ann"))
    for late in (decision(world, "reject", "bob"), edit(world, "bob", 90_000), decision(world, "approve", "ann")):
        with pytest.raises(AlreadyDecided):
            done.after(late)


def test_going_back_in_time_revives_no_old_request():
    world = waiting()
    back = world.after(rollback(world, 8))
    with pytest.raises((AlreadyDecided, UnknownRequest)):
        back.after(decision(world, "approve", "sue"))
    assert intents(back) == []


def test_what_waits_is_in_the_state_and_is_found_by_its_id_in_another_process():
    world = waiting()
    again = stored(world)
    assert [request.asked.request for request in pending(again.state)] == [world.request.asked.request]
    assert run(again.after(decision(world, "approve", "ann"))).call("transfer").status is CallStatus.DONE


def test_after_the_pause_it_goes_on_where_it_was_and_not_from_the_beginning():
    world = run(waiting().after(decision(waiting(), "approve", "ann")))
    assert len(world.events(ev.RunStarted)) == 1
    assert len(world.events(ev.ModelRequested)) == len(waiting().events(ev.ModelRequested))


def test_a_free_call_beside_a_gated_one_keeps_its_result():
    world = worlds.authorized().asked(AUTHORIZE, transfer(100_000))
    world = world.ran(world.call("authorize"), {"allowed": True})
    world = run(world.after(decision(world, "approve", "ann")))
    told = [item.by for item in world.state.items if item.role == "tool"]
    assert told.count("authorize") == 2
    assert told.count("transfer") == 1


def test_the_agent_waits_and_what_needs_nobody_goes_on():
    world = worlds.authorized().asked(AUTHORIZE, transfer(100_000))
    at = stamp(START)
    assert [type(action) for action in next_actions(world.state, "9999", room=5)] == [RunCall]
    still = waiting()
    assert next_action(still.state, at) == Nothing("decision")


@pytest.mark.parametrize("kind", ["reject", "respond", "ignore"])
def test_what_was_not_let_through_runs_by_no_path(kind):
    world = decides(kind, "sue")(start("four eyes"))
    for command in (core.Begin(world.call("transfer").id), core.HoldOver("?"), core.Expire("?")):
        with pytest.raises(Refused):
            world.after(command)
    assert intents(world) == []


def test_what_is_let_through_by_one_outcome_has_no_second_branch():
    world = waiting()
    world = world.after(decision(world, "reject", "ann"))
    ended = world.events(ev.RequestEnded)
    assert [event.outcome for event in ended] == ["rejected"]
    with pytest.raises(Outdated):
        world.after(core.Begin(world.call("transfer").id))


def test_a_call_that_breaks_its_schema_is_refused_before_anybody_is_asked():
    world = worlds.authorized().asked(transfer(-5))
    assert world.events(ev.ApprovalRequested) == []
    assert world.events(ev.CallRefused)[-1].code


def test_the_reviewer_reads_which_rule_stopped_it_and_why():
    asked = waiting().request.asked
    assert asked.rule
    assert asked.why
    assert asked.terms is not None


def test_only_what_was_approved_runs_by_the_tool_and_version_that_was_approved():
    world = waiting().after(decision(waiting(), "approve", "ann"))
    newer = {**worlds.TOOLS, "transfer": worlds.facts("transfer", "idempotent", version=2)}
    world = replace(world, tools=newer).after(core.Begin(world.call("transfer").id))
    assert intents(world) == []
    assert world.request.asked.supersedes


def test_an_approval_brings_no_arguments_of_its_own_and_none_that_were_not_shown():
    world = waiting()
    with pytest.raises(Invalid):
        world.after(decision(world, "approve", "ann", arguments={"amount": {"minor": 1, "currency": "USD"}}))
    with pytest.raises(Outdated):
        world.after(msgspec.structs.replace(decision(world, "approve", "ann"), seen="0" * 64))


def test_edited_arguments_are_what_runs_and_the_model_learns_of_them():
    world = waiting()
    world = run(world.after(edit(world, "ann", 90_000)))
    assert intents(world)[0].arguments["amount"]["minor"] == 90_000
    assert '"edited"' in world.state.items[-1].text


def test_rejecting_one_call_of_several_leaves_the_others():
    world = decide_on(two(), 0, "reject")
    assert len(pending(world.state)) == 1
    world = decide_on(world, 0, "approve")
    assert len([call for call in world.state.calls.values() if call.approved]) == 1


def test_a_rejection_does_not_look_like_trouble_that_passes_and_the_same_call_asks_nobody_again():
    world = waiting().after(decision(waiting(), "reject", "ann", reason="a scam"))
    told = world.state.items[-1].text
    assert '"rejected"' in told
    assert "a scam" in told
    assert "error" not in told
    again = world.asked(transfer(100_000))
    assert again.events(ev.CallRefused)[-1].code == "refused_before"
    assert pending(again.state) == []


def test_what_nobody_decides_ends_and_the_conversation_goes_on():
    world = waiting()
    world = world.after(core.Expire(world.request.asked.request))
    assert pending(world.state) == []
    assert world.state.owes


def test_what_waits_does_not_outlive_its_session():
    world = waiting().after(core.End("hung up", "customer"))
    assert world.events(ev.RequestEnded)[-1].outcome == "withdrawn"
    with pytest.raises(Refused):
        world.after(core.Begin(world.call("transfer").id))
    assert SessionOver.code == "session_over"


def test_the_time_that_people_take_is_no_time_of_the_tool():
    world = waiting()
    late = replace(world, seconds=world.seconds + 500)
    late = late.after(decision(late, "approve", "ann"))
    begun = late.after(core.Begin(late.call("transfer").id))
    assert begun.call("transfer").attempt == 1
    assert begun.call("transfer").retry_at == ""


def test_a_person_may_take_months_when_the_rule_lets_them():
    world = worlds.authorized().with_rules(rule(expires_in=180 * 86_400), ALLOW).asked(transfer(100_000))
    later = replace(world, seconds=100 * 86_400)
    assert run(later.after(decision(later, "approve", "ann"))).call("transfer").status is CallStatus.DONE


def test_a_decision_that_comes_before_its_request_is_refused_by_name_and_leaves_nothing():
    world = worlds.authorized()
    with pytest.raises(UnknownRequest):
        world.after(core.Decide("not yet", "approve", "ann", worlds.MAY["ann"]))


def test_a_timeout_is_no_rejection_and_no_approval():
    world = waiting()
    world = world.after(core.Expire(world.request.asked.request))
    request = next(reversed(world.state.requests.values()))
    assert (request.status, request.decided_by, request.approvals) == (RequestStatus.EXPIRED, "", ())
    assert world.state.refusals == 0
    assert '"expired"' in world.state.items[-1].text
    assert intents(world) == []


def test_a_quorum_is_of_different_people_and_who_has_the_session_is_none_of_them():
    world = start("four eyes").after(core.TakeOver("sue"))
    with pytest.raises(DecisionNotAllowed, match="you took the session over"):
        decides("approve", "sue")(world)
    world = decides("approve", "ann")(world)
    with pytest.raises(DecisionNotAllowed):
        decides("approve", "ann")(world)
    assert decides("approve", "zoe")(world).call("transfer").status is CallStatus.READY


def test_who_is_not_asked_any_more_may_not_decide_and_the_record_names_who_did():
    world = start("reviewers and a chain")
    key = world.request.asked.request
    world = world.after(core.Escalate(key, 1), core.Escalate(key, 2))
    with pytest.raises(DecisionNotAllowed, match="user:zoe"):
        decides("approve", "sue")(world)
    assert decides("approve", "zoe")(world).events(ev.DecisionMade)[-1].by == "zoe"


def test_the_permission_is_asked_for_also_where_no_reviewer_is_named():
    world = start("four eyes")
    request = world.request.asked
    command = core.Decide(request.request, "approve", "vic", frozenset(), seen=request.digest, names=NAMES["ann"])
    with pytest.raises(DecisionNotAllowed, match="needs the permission"):
        world.after(command)


def test_a_rule_asks_one_person_or_four_eyes_as_its_risk_wants():
    assert decides("approve", "ann")(start("approved, then held")).request.held_until
    assert pending(decides("approve", "ann")(start("four eyes")).state)


def test_approval_is_not_authority_a_limit_lowered_meanwhile_stops_it():
    world = worlds.authorized().asked(AUTHORIZE, transfer(100_000))
    world = world.after(decision(world, "approve", "ann"))
    world = world.ran(world.call("authorize"), {"allowed": False})
    world = world.after(core.Begin(world.call("transfer").id))
    assert intents(world) == []
    assert "changed since" in world.request.asked.why


def test_an_approver_who_lost_the_right_meanwhile_stops_it():
    world = waiting().after(decision(waiting(), "approve", "ann"))
    gone = world.after(core.Begin(world.call("transfer").id, authorities={"ann": (core.Authority(frozenset()),)}))
    assert intents(gone) == []
    there = world.after(
        core.Begin(world.call("transfer").id, authorities={"ann": (core.Authority(worlds.MAY["ann"]),)})
    )
    assert len(intents(there)) == 1


@pytest.mark.parametrize("change", ["amount", "tool_version", "epoch"])
def test_a_permit_is_of_exactly_these_arguments_this_tool_and_this_epoch(change):
    asked = waiting().request.asked
    fields = {"epoch": 0, "tool_version": asked.tool_version, "arguments": asked.arguments}
    other = {
        "amount": {**fields, "arguments": {"amount": {"minor": 100_001, "currency": "USD"}}},
        "tool_version": {**fields, "tool_version": 2},
        "epoch": {**fields, "epoch": 1},
    }[change]

    def digest(epoch: int, tool_version: int, arguments: dict[str, object]) -> str:
        return core.permit_digest(asked.call, epoch, asked.tool, tool_version, arguments, asked.basis)

    assert digest(**fields) == asked.digest  # type: ignore[arg-type]
    assert digest(**other) != asked.digest  # type: ignore[arg-type]


def test_with_twenty_busy_branches_no_permit_is_voided_by_what_does_not_concern_it():
    others = [worlds.proposed("load_customer", f"state.seen.c{n}", customer=f"C-{n}") for n in range(20)]
    world = worlds.authorized()
    for n in range(0, 20, 5):  # an answer carries 16 calls at most, and ten requests wait at once
        world = world.asked(*others[n : n + 5], *(transfer(100_000 + m) for m in range(n, n + 5)))
        for request in pending(world.state):
            shown = core.Decide(request.asked.request, "approve", "sue", worlds.MAY["sue"], seen=request.asked.digest)
            world = world.after(shown)
    branches = [call for call in world.state.calls.values() if call.tool == "load_customer"]
    moves = [call for call in world.state.calls.values() if call.tool == "transfer"]
    for branch, move in zip(branches, moves, strict=True):
        world = world.ran(branch, {"name": "somebody"})
        world = world.after(core.AddData("notes", {"seen": branch.id}, "user:ann"), core.Begin(move.id))
        world = world.after(core.Return(move.id, 1, {"receipt": move.id}))
    assert len(intents(world)) == 20
    assert len(world.events(ev.ApprovalRequested)) == 20


@pytest.mark.parametrize("crash", ["before it ran", "while it ran", "for good"])
def test_a_crash_in_a_tool_leaves_no_call_without_a_result_in_what_the_model_is_shown(crash):
    world = worlds.opened().asked(AUTHORIZE, worlds.proposed("post_letter", "state.letter", to="Ada"), transfer(40_000))
    world = world.with_rules(pol.Rule("free", ("*",), "true", 0, "allow", "Free."))
    if crash != "before it ran":
        world = world.after(core.Begin(world.call("authorize").id))
    if crash == "for good":
        world = world.after(core.Begin(world.call("authorize").id))  # another worker finds the open intent
        world = world.after(core.Fail(world.call("authorize").id, 2, "lost", False, 0.0, "lost"))
    world = world.after(core.Say("customer", "Hello? Are you still there?", "customer"))
    shown = definition.build(registry.find("bank"), "model", stored(world).state).messages
    told_well(shown)
    assert shown[-1].role == "customer" or any(message.role == "customer" for message in shown[-3:])
    assert world.asked(text="I am here.").events(ev.MessageAdded)[-1].text == "I am here."


def test_a_pause_stops_what_flows_lasts_as_long_as_people_want_and_ends_by_a_person_alone():
    world = worlds.authorized().asked(AUTHORIZE, transfer(100_000))
    paused = world.after(core.Pause("the customer is at the counter", "user:sue"))
    with pytest.raises(SessionPaused):
        paused.after(core.Begin(paused.call("authorize").id))
    later = replace(paused, seconds=200 * 86_400)
    assert next_action(later.state, stamp(later.given.at)) == Nothing("resume")
    going = later.after(core.Resume("user:sue"))
    assert isinstance(next_action(going.state, stamp(going.given.at)), RunCall)
    assert pending(going.state)[0].asked.request == pending(world.state)[0].asked.request
