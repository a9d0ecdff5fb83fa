"""How many people can approve a request: counted when it is made, by the facts that leave people out."""

from __future__ import annotations

from dataclasses import replace as world_with
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide import Approver, Authority
from agentstate.engine.decide.approvers import Gap, gaps, most_approvals, who_can_approve
from agentstate.engine.policy.rules import Step
from agentstate.engine.state.evolution import fold
from tests.core import worlds
from tests.core.worlds import SENIOR, SUPERVISOR, World, decision, transfer

ASKS = pol.Rule("asks", ("transfer",), "true", 2, "approve", "Money.", quorum=2)
FREE = pol.Rule("free", ("authorize", "load_customer", "plan"), "true", 0, "allow", "Reads.")


def person(actor: str, may: frozenset[str] = SUPERVISOR, *names: str, **more: Any) -> Approver:
    """Somebody with these permissions of their own."""
    return Approver(actor, (Authority(may, frozenset(names)),), **more)


def lending(giver: str, receiver: str) -> tuple[Approver, Approver]:
    """A senior who lends to somebody that has no right of their own."""
    lent = Authority(SENIOR, frozenset(), giver)
    return (
        person(giver, SENIOR, sharing=frozenset({receiver})),
        Approver(receiver, (Authority(frozenset()), lent), frozenset({giver})),
    )


def team(*people: Approver, rule: pol.Rule = ASKS) -> World:
    """A conversation in a team of these people, under this rule."""
    return world_with(worlds.opened(), approvers=people).with_rules(rule, FREE)


def missing(world: World) -> int:
    """How many people the transfer lacks that is proposed now."""
    return world.asked(transfer(90_000)).request.asked.approvers_missing


def test_enough_people_are_nothing_to_say():
    assert missing(team(person("ann"), person("bob"))) == 0
    assert missing(team(person("ann"), person("bob"), person("cid"))) == 0


def test_too_few_people_are_said_when_it_is_asked():
    assert missing(team(person("ann"))) == 1
    assert missing(team()) == 2
    assert worlds.waiting().request.asked.approvers_missing == 0  # nobody counted


def test_the_permission_of_the_tier_is_needed():
    assert missing(team(person("ann"), person("sue", SENIOR), rule=replace(ASKS, tier=3))) == 1
    assert missing(team(person("sue", SENIOR), person("zoe", SENIOR), rule=replace(ASKS, tier=3))) == 0


def test_only_reviewers_count_those_of_a_later_step_too():
    rule = replace(ASKS, reviewers=("user:ann",))
    people = (person("ann", SUPERVISOR, "user:ann"), person("bob", SUPERVISOR, "role:lead"))
    assert missing(team(*people, rule=rule)) == 1
    assert missing(team(*people, rule=replace(rule, chain=(Step(60, ("role:lead",)),)))) == 0


@pytest.mark.parametrize(
    "did",
    [
        core.Say("customer", "And hurry.", "ann"),
        core.BargeIn("One moment.", "ann"),
    ],
)
def test_who_is_left_out_by_what_they_did_does_not_count(did):
    assert missing(team(person("ann"), person("bob")).after(did)) == 1


def test_the_editor_does_not_count_for_the_edited_call():
    world = team(person("ann"), person("bob"), rule=replace(ASKS, quorum=1, edits=()))
    world = world.asked(transfer(90_000))
    edited = world.after(worlds.edit(world, "ann", 80_000))
    assert edited.request.asked.approvers_missing == 0
    alone = world_with(world, approvers=(person("ann"),))
    assert alone.after(worlds.edit(alone, "ann", 80_000)).request.asked.approvers_missing == 1


def test_two_who_share_a_right_count_as_one():
    assert missing(team(*lending("ann", "vic"))) == 1
    assert missing(team(*lending("ann", "vic"), person("bob"))) == 0
    left = team(*lending("ann", "vic"), person("bob")).after(core.Say("customer", "Hurry.", "vic"))
    assert missing(left) == 1  # with vic, ann is left out


def test_one_authority_lent_to_two_people_counts_once():
    lent = Authority(SENIOR, frozenset(), "ann")
    two = [Approver(each, (lent,), frozenset({"ann"})) for each in ("vic", "wes")]
    assert most_approvals(two, 5) == 1
    assert most_approvals([*two, person("bob")], 5) == 2


def test_who_uses_a_lent_right_counts_no_more_than_its_lender():
    """Sue lends to bob and bob to dan: sue and dan are one, and where sue is left out dan is as well."""
    chained = Authority(SUPERVISOR, frozenset(), "bob", shares=frozenset({"sue", "dan"}))
    dan = Approver("dan", (chained,), frozenset({"bob"}))
    sue = person("sue", SENIOR, sharing=frozenset({"bob"}))
    assert most_approvals([sue, dan], 2) == 1
    assert who_can_approve([dan], 2, [()], {"sue"}) == []
    assert who_can_approve([dan], 2, [()], {"zoe"}) == [dan]


def test_of_a_lender_to_many_the_receivers_with_rights_of_their_own_count():
    many = [person(each, sharing=frozenset({"ann"})) for each in ("bob", "cid", "dot")]
    assert most_approvals([person("ann", sharing=frozenset({"bob", "cid", "dot"})), *many], 5) == 3
    assert most_approvals([person("ann", sharing=frozenset({"bob", "cid", "dot"})), *many], 2) == 2


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=5), st.integers(1, 6))
def test_the_count_is_never_above_what_people_can_give_one_after_another(pairs, enough):
    shared = {n: {b for a, b in pairs if a == n} | {a for a, b in pairs if b == n} for n in range(6)}
    people = [person(str(n), sharing=frozenset(map(str, shared[n] - {n}))) for n in range(6)]
    best = max(
        mask.bit_count()
        for mask in range(64)
        if not any(mask >> n & 1 and mask >> other & 1 for n in range(6) for other in shared[n] - {n})
    )
    found = most_approvals(people, enough)
    assert found <= min(best, enough)
    assert found == min(best, enough) or len(pairs) > 3  # exact where delegations form no long circle


def test_a_delay_needs_no_approval_and_counts_nobody():
    held = replace(ASKS, gate="hold", hold=60)
    assert missing(team(rule=held)) == 0


def undone(world: World) -> World:
    return world.after(core.Undo(world.request.asked.request, "ann", SUPERVISOR))


def test_a_delay_that_a_person_undoes_counts_who_can_approve_then():
    held = replace(ASKS, gate="hold", hold=60)
    world = team(person("ann"), rule=held).asked(transfer(90_000))
    assert world.request.asked.approvers_missing == 0
    again = undone(world)
    assert again.request.asked.approvers_missing == 1
    few = again.after(decision(again, "approve", "sue", deputy=True), decision(again, "approve", "ann"))
    assert few.call("transfer").approved
    assert undone(world_with(world, approvers=(person("ann"), person("bob")))).request.asked.approvers_missing == 0


def test_a_delay_that_a_take_over_undoes_counts_without_who_took_over():
    world = team(person("ann"), person("bob"), rule=replace(ASKS, gate="hold", hold=60)).asked(transfer(90_000))
    assert world.after(core.TakeOver("ann")).request.asked.approvers_missing == 1
    assert world.after(core.TakeOver("zoe")).request.asked.approvers_missing == 0


def test_an_approval_that_is_undone_counts_anew():
    rule = replace(ASKS, quorum=1, hold=60)
    world = team(person("ann"), person("bob"), rule=rule).asked(transfer(90_000))
    world = world.after(decision(world, "approve", "bob"))
    assert undone(world_with(world, approvers=())).request.asked.approvers_missing == 1
    nobody_counts = undone(world_with(world, approvers=None))
    assert nobody_counts.request.asked.approvers_missing == 0
    assert nobody_counts.events(ev.RequestUndone)[-1].approvers_missing is None


def test_it_expires_by_name():
    world = team(person("ann")).asked(transfer(90_000))
    ended = world.after(core.Expire(world.request.asked.request)).events(ev.RequestEnded)[-1]
    assert ended.outcome == "expired"
    assert ended.because.startswith("too few people could approve it, 1 of 2 when it was asked; nobody decided before")
    enough = team(person("ann"), person("bob")).asked(transfer(90_000))
    ended = enough.after(core.Expire(enough.request.asked.request)).events(ev.RequestEnded)[-1]
    assert ended.because.startswith("nobody decided before")


def test_a_deputy_decides_only_what_says_that_too_few_are_left():
    enough = team(person("ann"), person("bob")).asked(transfer(90_000))
    with pytest.raises(core.DecisionNotAllowed) as refused:
        enough.after(decision(enough, "approve", "sue", deputy=True))
    assert refused.value.detail == "a deputy decides only requests that too few people can approve"
    few = team(person("ann")).asked(transfer(90_000))
    decided = few.after(decision(few, "approve", "sue", deputy=True), decision(few, "approve", "ann"))
    assert [each.deputy for each in decided.events(ev.DecisionMade)] == [True, False]


def test_what_leaves_people_out_leaves_deputies_out():
    world = team().after(core.Say("customer", "Hurry.", "sue")).asked(transfer(90_000))
    with pytest.raises(core.DecisionNotAllowed, match="spoke as the customer"):
        world.after(decision(world, "approve", "sue", deputy=True))
    with pytest.raises(core.DecisionNotAllowed, match="share a right"):
        world.after(decision(world, "approve", "zoe", deputy=True, sharing=frozenset({"sue"})))


def test_an_entry_that_was_written_before_folds_and_says_nothing():
    world = team().asked(transfer(90_000))
    (asked,) = world.events(ev.ApprovalRequested)
    old = ev.encode(asked).replace(b'"approvers_missing":2,', b"")
    assert b"approvers_missing" not in old
    read = ev.decode(old)
    assert read == replace(asked, approvers_missing=0)
    history = [(read if event == asked else event, at) for event, at in world.history]
    assert next(iter(fold(history).requests.values())).asked.approvers_missing == 0


def test_gaps_name_what_rules_ask_of_more_people_than_there_are():
    ann, sue = person("ann"), person("sue", SENIOR)
    high, free = replace(ASKS, name="high", tier=3), replace(ASKS, name="free", gate="allow")
    assert gaps([free, ASKS, high], [ann, sue]) == [Gap(3, 2, ("sue",), 1, ("high",))]
    assert gaps([ASKS, replace(ASKS, name="same")], [ann]) == [Gap(2, 2, ("ann",), 1, ("asks", "same"))]
    assert gaps([replace(ASKS, reviewers=("role:lead",))], [ann, sue]) == [Gap(2, 2, (), 0, ("asks",))]
    three = replace(ASKS, quorum=3)
    assert [(gap.tier, gap.quorum) for gap in gaps([ASKS, high, three], [])] == [(3, 2), (2, 3), (2, 2)]


def test_who_can_approve_keeps_what_entitles_them():
    lent = Authority(SENIOR, frozenset(), "sue")
    both = Approver("ann", (Authority(SUPERVISOR), lent), frozenset({"sue"}))
    assert who_can_approve([both], 3, [()])[0].held == (lent,)
    assert who_can_approve([both], 3, [()], {"sue"}) == []
