"""What the approval of a plan covers: its calls as they stand, the inputs of its instances, and values that nobody but
its own calls has written since.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.commands.calls import Intervene
from agentstate.engine.decide.commands.conversation import AddData
from agentstate.engine.decide.commands.plans import EditPlan, InstanceGiven, ProposePlan
from agentstate.engine.decide.commands.scratchpad import ChangeState
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.migrating.catalogue import catalogue
from agentstate.engine.schemas import Actor
from agentstate.engine.schemas.declared import declare
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import SessionState, pending
from agentstate.engine.state.snapshot import to_parts
from agentstate.errors import Invalid
from tests.core import worlds
from tests.core.family_world import HANDS_OVER
from tests.core.test_plans_in_sessions import CHECK, FREE, LOAD, MOVE, key, ran, ready, step
from tests.core.worlds import World, opened

WHOLE = worlds.pol.Rule("whole", ("plan",), "true", 2, "approve", "Plans are looked at.")
MONEY = worlds.pol.Rule("money", ("transfer",), "true", 2, "approve", "Money moves.")
LETTER = worlds.pol.Rule("letter", ("post_letter",), "true", 2, "approve", "A letter leaves.")
RULES = (FREE, WHOLE, MONEY, LETTER)
OPENING = (*RULES, HANDS_OVER)
PAY = step("transfer", "state.receipt", to="†input.to", amount={"minor": 600})


def approved(*calls: dict[str, Any], rules: tuple[Any, ...] = RULES, world: World | None = None, **more: Any) -> World:
    """A plan that was handed over, approved as a whole by sue, and committed."""
    world = (world or opened()).with_rules(*rules).after(ProposePlan(calls, "user:pat", **more))
    return world.after(worlds.decision(world, "approve", "sue"), core.Begin(world.state.plans.proposed))


def begun(world: World, name: str, **more: Any) -> World:
    return world.after(core.Begin(key(world, name), **more))


def changed(world: World, path: str, value: Any) -> World:
    """The state as maya has changed it."""
    change = (PathChange(path, value),)
    name = f"change-{len(world.history)}"
    return world.after(ChangeState(world.state.seq, change, "user:maya", Actor("staff"), name, world.state.pad))


def asked(world: World) -> str:
    """Why the call that was to begin is asked about by itself."""
    assert not [each for each in world.events(ev.ToolIntended) if each.tool == world.request.asked.tool]
    return str(world.request.asked.why)


# --- instances --------------------------------------------------------------------------------------------


def for_x(to: str) -> tuple[InstanceGiven, ...]:
    return (InstanceGiven("x", {"to": to}),)


def test_a_plan_that_is_only_proposed_changes_nothing_of_one_that_is_under_way():
    world = approved(PAY, instances=for_x("own account"))
    other = world.after(ProposePlan((PAY,), "user:eve", instances=for_x("a stranger"), replace=True))
    assert other.state.plans.instances["x"].inputs == {"to": "own account"}
    then = begun(other, "transfer@x")
    assert then.events(ev.ToolIntended)[-1].arguments["to"] == "own account"
    then = then.after(core.Return(key(then, "transfer@x"), 1, {"id": "R"}))
    assert then.events(ev.RoundEnded)[-1].instances == {"well": 1, "not well": 0}


def test_instances_open_when_their_plan_is_committed_and_are_gone_when_it_is_not():
    world = opened().with_rules(*RULES).after(ProposePlan((PAY,), "user:eve", instances=for_x("a stranger")))
    assert not world.events(ev.InstanceOpened)
    rejected = world.after(worlds.decision(world, "reject", "sue"))
    assert (rejected.state.plans.instances, rejected.state.plans.proposed) == ({}, "")
    accepted = world.after(worlds.decision(world, "approve", "sue"), core.Begin(world.state.plans.proposed))
    part = accepted.state.plans.instances["x"]
    assert (part.inputs, part.offered, ready(accepted)) == ({"to": "a stranger"}, {}, ["transfer@x"])


def test_an_instance_that_is_only_proposed_cannot_be_named_by_another_plan():
    world = opened().with_rules(*RULES).after(ProposePlan((PAY,), "user:eve", instances=for_x("a stranger")))
    with pytest.raises(Invalid, match="unknown_instance"):
        world.after(ProposePlan(({**LOAD, "_instance": "x"},), "user:pat"))


def test_the_request_of_a_plan_shows_and_binds_the_inputs_of_its_instances():
    def asks(to: str) -> Any:
        return opened().with_rules(*RULES).after(ProposePlan((PAY,), "user:eve", instances=for_x(to))).request.asked

    (member,) = asks("own account").arguments["members"]
    assert (member["name"], member["inputs"]) == ("x", {"to": "own account"})
    assert asks("own account").digest != asks("a stranger").digest


def test_what_an_instance_of_another_subject_is_given_stands_under_its_own_key():
    member = InstanceGiven("secret-name", {"to": "secret-account"}, "C-9", "k-9")
    world = opened().with_rules(*RULES).after(ProposePlan((PAY,), "user:eve", instances=(member,)))
    own = [event for event, _ in world.history if not isinstance(event, ev.InstanceProposed)]
    assert "secret" not in repr(own)
    assert "secret" not in to_parts(world.state, 0).rest.decode()
    (digest,) = (each["digest"] for each in world.request.asked.arguments["members"])
    offer = world.events(ev.InstanceProposed)[0]
    assert digest == ev.digest("secret-name", {"to": "secret-account"}, "C-9", "k-9", offer.salt)


def test_policy_judges_a_plan_on_what_its_instances_are_given():
    free = worlds.pol.Rule("free", ("transfer",), "arguments.to == 'own'", 1, "approve", "Their own.")
    far = worlds.pol.Rule("far", ("transfer",), "arguments.to != 'own'", 3, "approve", "A stranger's.")
    members = (InstanceGiven("x", {"to": "own"}), InstanceGiven("y", {"to": "stranger"}))

    def tier(*instances: InstanceGiven) -> int:
        world = opened().with_rules(WHOLE, free, far).after(ProposePlan((PAY,), "user:pat", instances=instances))
        return int(world.request.asked.tier)

    assert (tier(members[0]), tier(*members)) == (2, 3)


# --- what a covered call reads -----------------------------------------------------------------------------


def checked() -> World:
    """An approved plan whose transfer reads what its check has said: $10.00."""
    world = approved(
        step("authorize", "state.first", customer="C-1"),
        step("transfer", "state.receipt", amount="†state.first.amount"),
    )
    return ran(world, "authorize", {"amount": {"minor": 1_000}})


def test_a_tools_own_result_fills_an_approved_reference_and_nobody_is_asked():
    world = begun(checked(), "transfer")
    assert world.events(ev.ToolIntended)[-1].request == world.events(ev.ApprovalRequested)[0].request


BY_MODEL = ev.Answered("model", "digest")


def answered(world: World, name: str, result: Any) -> World:
    """The world after a model answered the call of that name."""
    return world.after(core.Begin(key(world, name)), core.Return(key(world, name), 1, result, answered=BY_MODEL))


def test_a_value_that_a_model_fills_in_later_is_asked_about_as_it_is():
    world = approved(
        step("authorize", "state.first", customer="C-1"),
        step("transfer", "state.receipt", to="†state.first.to", amount={"minor": 1_000}),
    )
    world = begun(answered(world, "authorize", {"to": "9999999999"}), "transfer")
    assert asked(world).startswith("state.first.to was changed after the plan was approved.")
    assert world.request.asked.arguments == {"to": "9999999999", "amount": {"minor": 1_000}}
    assert world.request.asked.changed == (ev.ChangedInput("state.first.to", "agent:bank"),)


def test_a_value_of_a_model_that_was_copied_through_other_calls_is_asked_about_too():
    world = approved(
        step("authorize", "state.first", customer="C-1"),
        step("load_customer", "state.second", customer="†state.first.to"),
        step("load_customer", "state.third", customer="†state.second.to", _id="again"),
        step("transfer", "state.receipt", to="†state.third.to", amount={"minor": 1_000}),
    )
    world = answered(world, "authorize", {"to": "666"})
    world = ran(ran(world, "load_customer", {"to": "666"}), "again", {"to": "666"})
    assert asked(begun(world, "transfer")).startswith("state.third.to was changed")


@pytest.mark.parametrize("outcome", ["returned", "failed"])
def test_a_value_that_a_delegate_gives_is_asked_about_as_it_is(outcome):
    letter = step("load_customer", "state.letter || state.problem", customer="C-1", _delegate="anonymous")
    given = {"returned": "†state.letter.output", "failed": "†state.problem.error"}[outcome]
    world = approved(letter, step("transfer", "state.receipt", to=given, amount={"minor": 1_000}), rules=OPENING)
    call = key(world, "load_customer")
    world = world.after(core.Begin(call), core.Delegated(call, "child"))
    if outcome == "returned":
        world = world.after(core.Return(call, 1, {"session": "child", "output": "666"}))
    else:
        world = world.after(core.Fail(call, 1, "666", transient=False))
    assert asked(begun(world, "transfer")).startswith(given.removeprefix("†"))


def test_what_no_model_wrote_is_covered_beside_what_one_wrote():
    world = approved(
        step("authorize", "state.first", customer="C-1"),
        step("load_customer", "state.second", customer="C-1"),
        step("transfer", "state.receipt", to="†state.second.to", amount={"minor": 1_000}),
    )
    world = ran(answered(world, "authorize", {"to": "666"}), "load_customer", {"to": "own"})
    assert begun(world, "transfer").events(ev.ToolIntended)[-1].request


def test_a_persons_change_of_what_an_approved_call_reads_takes_it_out_of_the_approval():
    world = changed(checked(), "state.first.amount", {"minor": 230_000})
    assert asked(begun(world, "transfer")).startswith("state.first.amount was changed after the plan was approved.")
    assert world.state.plans.own.rewritten["transfer"].by == "user:maya"


def test_the_request_names_who_changed_what():
    world = begun(changed(checked(), "state.first.amount", {"minor": 230_000}), "transfer")
    assert world.request.asked.changed == (ev.ChangedInput("state.first.amount", "user:maya"),)


def test_a_change_of_anything_else_takes_nothing_out():
    world = begun(changed(checked(), "state.note", "Called twice."), "transfer")
    assert not pending(world.state)


@pytest.mark.parametrize("path", ["state.first.open", "state.memo"])
def test_a_value_that_a_guard_or_a_scope_names_counts_as_read(path):
    world = changed(changed(opened(), "state.first", {"open": 1}), "state.memo", "as it was")
    move = step("transfer", "state.receipt", amount={"minor": 5}, _when="state.first.open > 0", _scopes=["state.memo"])
    world = approved(move, world=world)
    assert not pending(begun(world, "transfer").state)
    assert asked(begun(changed(world, path, 2), "transfer")).startswith(f"{path} was changed")


def test_a_call_that_reads_what_a_changed_call_gave_is_out_as_well():
    world = approved(LOAD, CHECK, MOVE)
    world = ran(world, "load_customer", {"name": "Ann"})
    world = changed(world, "state.customer.name", "Zed")
    world = ran(world, "authorize", {"amount": {"minor": 230_000}})
    assert asked(begun(world, "transfer")).startswith("state.check.amount was changed")
    assert world.state.plans.own.rewritten["transfer"].by == "user:maya"


def test_an_edit_of_a_call_takes_those_that_read_from_it_out_of_the_approval():
    world = approved(
        step("authorize", "state.first", customer="C-1"),
        step("transfer", "state.receipt", amount="†state.first.amount"),
    )
    named = [dict(call) for call in world.events(ev.PlanCommitted)[-1].calls]
    world = world.after(EditPlan(({**named[0], "customer": "C-666"}, named[1]), "user:maya", 1))
    assert world.state.plans.approved is not None
    assert (world.state.plans.approved.calls, set(world.state.plans.approved.edited)) == ((), {"authorize", "transfer"})
    world = ran(world, "authorize", {"amount": {"minor": 240_000}})
    world = begun(world, "transfer")
    assert asked(world).startswith("The plan was edited after it was approved")
    assert world.request.asked.changed == (ev.ChangedInput("plan", "user:maya"),)


def test_an_edit_that_takes_a_source_away_takes_its_reader_out():
    world = approved(
        step("authorize", "state.first", customer="C-1"),
        step("transfer", "state.receipt", amount="†state.first.amount"),
        world=changed(opened(), "state.first", {"amount": {"minor": 99_000}}),
    )
    named = [dict(call) for call in world.events(ev.PlanCommitted)[-1].calls]
    world = world.after(EditPlan((named[1],), "user:maya", 1))
    assert asked(begun(world, "transfer")).startswith("The plan was edited after it was approved")


def test_a_tool_that_an_edit_of_the_request_adds_is_asked_about_by_itself():
    world = opened().with_rules(*RULES).after(ProposePlan((PAY | {"to": "C-1"},), "user:pat"))
    letter = step("post_letter", "state.letter", to="C-1")
    arguments = {**world.request.asked.arguments, "calls": [*world.request.asked.arguments["calls"], letter]}
    world = world.after(worlds.decision(world, "edit", "sue", arguments=arguments))
    world = world.after(worlds.decision(world, "approve", "zoe"), core.Begin(world.state.plans.proposed))
    assert asked(begun(world, "post_letter")).startswith("The tool has another version")
    assert not pending(begun(world, "transfer").state)


def test_an_edit_elsewhere_leaves_what_was_approved():
    world = approved(LOAD, step("transfer", "state.receipt", amount={"minor": 5}))
    named = [dict(call) for call in world.events(ev.PlanCommitted)[-1].calls]
    world = world.after(EditPlan(({**named[0], "customer": "C-2"}, named[1]), "user:maya", 1))
    assert not pending(begun(world, "transfer").state)


def test_a_data_message_that_an_approved_call_reads_takes_it_out():
    world = opened().after(AddData("claim", {"amount": {"minor": 7}}, "user:maya"))
    world = approved(step("transfer", "state.receipt", amount="†claim.amount"), world=world)
    assert not pending(begun(world, "transfer").state)
    world = world.after(AddData("claim", {"amount": {"minor": 7_000}}, "user:maya"))
    assert asked(begun(world, "transfer")).startswith("claim.amount was changed")


def test_a_result_that_a_person_supplied_is_none_of_the_tools():
    world = approved(
        step("post_letter", "state.letter", to="C-1"), step("transfer", "state.receipt", amount="†state.letter.fee")
    )
    world = begun(world, "post_letter")
    assert world.events(ev.ToolIntended)[-1].tool == "post_letter"
    world = begun(world, "post_letter")  # its worker died
    world = world.after(
        Intervene(key(world, "post_letter"), "happened", "user:maya", "I saw it", {"fee": {"minor": 9}})
    )
    assert asked(begun(world, "transfer")).startswith("state.letter.fee was changed")


def posted_first() -> World:
    """An approved plan whose transfer reads what its letter gave; the letter is asked about by itself: its tool has
    another version by now.
    """
    letter = step("post_letter", "state.letter", to="C-1")
    world = approved(letter, step("transfer", "state.receipt", amount="†state.letter.fee"))
    return begun(with_tool(world, "post_letter", "once", 2), "post_letter")


def test_an_answer_in_the_place_of_a_result_is_none_of_the_tools():
    rule = worlds.pol.Rule("notes", ("load_customer",), "true", 2, "approve", "Notes.")
    read, note = (
        step("load_customer", "state.fee", customer="C-1"),
        step("post_letter", "state.sent", text="†state.fee"),
    )
    world = approved(read, note, rules=(WHOLE, LETTER, rule))
    world = begun(with_tool(world, "load_customer", "pure", 2), "load_customer")
    world = world.after(worlds.decision(world, "respond", "sue", response="The fee is 9."))
    assert asked(begun(world, "post_letter")).startswith("state.fee was changed")
    assert world.state.plans.own.rewritten["post_letter"].by == "sue"


def test_arguments_that_a_person_edited_give_a_result_that_was_not_approved():
    world = posted_first()
    world = world.after(worlds.decision(world, "edit", "sue", arguments={"to": "C-2"}))
    world = world.after(worlds.decision(world, "approve", "zoe"))
    world = world.after(
        core.Begin(key(world, "post_letter")), core.Return(key(world, "post_letter"), 1, {"fee": {"minor": 9}})
    )
    assert asked(begun(world, "transfer")).startswith("state.letter.fee was changed")
    assert world.state.plans.own.rewritten["transfer"].by == "sue"


def test_what_a_call_beside_the_plan_writes_is_not_what_was_approved():
    world = checked()
    world = world.asked(worlds.proposed("load_customer", "state.first", customer="C-9"))
    world = world.after(worlds.decision(world, "approve", "sue"))
    world = world.ran(world.call("load_customer"), {"amount": {"minor": 230_000}})
    assert asked(begun(world, "transfer")).startswith("state.first.amount was changed")


def test_a_plan_whose_values_change_while_it_waits_is_asked_about_again():
    world = changed(opened(), "state.first", {"amount": {"minor": 1_000}}).with_rules(*RULES)
    world = world.after(ProposePlan((step("transfer", "state.receipt", amount="†state.first.amount"),), "user:pat"))
    first = world.request.asked.request
    world = changed(world, "state.first.amount", {"minor": 230_000})
    plan = world.state.plans.proposed
    world = world.after(worlds.decision(world, "approve", "sue"), core.Begin(plan))
    assert world.request.asked.tool == "plan"
    assert world.request.asked.why.startswith("state.first.amount was changed while the plan waited.")
    assert world.request.asked.supersedes == first
    assert world.request.asked.changed == (ev.ChangedInput("state.first.amount", "user:maya"),)
    world = world.after(worlds.decision(world, "approve", "sue"), core.Begin(plan))
    assert not pending(begun(world, "transfer").state)


# --- terms, people, versions ------------------------------------------------------------------------------------


def test_a_figure_that_was_not_known_at_the_plans_approval_is_typed_when_it_is():
    typed = worlds.pol.Rule("typed", ("transfer",), "true", 2, "approve", "Typed.", retype=("arguments.amount.minor",))
    world = approved(
        step("authorize", "state.first", customer="C-1"),
        step("transfer", "state.receipt", amount="†state.first.amount"),
        rules=(FREE, WHOLE, typed),
    )
    world = begun(ran(world, "authorize", {"amount": {"minor": 300_000}}), "transfer")
    assert world.request.terms.retype == ("arguments.amount.minor",)


@pytest.mark.parametrize("terms", [{"reasons": ("asked",)}, {"hold": 60}])
def test_a_reason_or_a_delay_is_asked_of_the_value_that_will_be_sent(terms):
    rule = worlds.pol.Rule("asks", ("transfer",), "true", 2, "approve", "Asks.", **terms)
    fixed = step("transfer", "state.other", _id="fixed", amount={"minor": 5})
    calls = (
        step("authorize", "state.first", customer="C-1"),
        step("transfer", "state.receipt", amount="†state.first.amount"),
        fixed,
    )
    world = opened().with_rules(FREE, WHOLE, rule).after(ProposePlan(calls, "user:pat"))
    plan = world.state.plans.proposed
    world = world.after(worlds.decision(world, "approve", "sue", code=next(iter(terms.get("reasons", ())), "")))
    if "hold" in terms:
        world = replace(world, seconds=world.seconds + 61)
        world = world.after(core.HoldOver(world.request.asked.request))
    world = ran(world.after(core.Begin(plan)), "authorize", {"amount": {"minor": 300_000}})
    assert not pending(begun(world, "fixed").state)
    assert "was not known when the plan was approved" in asked(begun(world, "transfer"))


def standing(may: frozenset[str]) -> dict[str, tuple[Authority, ...]]:
    return {"sue": (Authority(may, frozenset()),)}


def test_who_approved_a_plan_is_looked_up_when_each_of_its_calls_begins():
    world = checked()
    assert not pending(begun(world, "transfer", authorities=standing(worlds.SENIOR)).state)
    without = begun(world, "transfer", authorities=standing(frozenset()))
    assert asked(without).startswith("Who approved the plan may not decide it any more.")


def test_the_approval_of_a_plan_is_kept_as_long_as_it_covers_calls():
    wide = tuple(step("load_customer", f"state.n{number}", _id=f"n{number}", customer="C") for number in range(90))
    world = approved(*wide, step("transfer", "state.receipt", amount={"minor": 5}, after="†state.n89.name"))
    for number in range(90):
        world = ran(world, f"n{number}", {"name": "Ann"})
    strict = msgspec.structs.replace(MONEY, reviewers=("role:fraud",))
    assert asked(begun(world.with_rules(FREE, WHOLE, strict), "transfer")).startswith("Policy asks for more")
    assert asked(begun(world, "transfer", authorities=standing(frozenset()))).startswith("Who approved the plan")
    assert not pending(begun(world, "transfer").state)


def test_a_tool_of_another_version_than_was_approved_is_asked_about():
    newer = {**worlds.TOOLS, "transfer": worlds.facts("transfer", "idempotent", version=2)}
    assert asked(begun(replace(checked(), tools=newer), "transfer")).startswith("The tool has another version")


def failed_for_a_while() -> World:
    """The covered transfer began, and failed for a while."""
    world = begun(checked(), "transfer")
    return world.after(core.Fail(key(world, "transfer"), 1, "busy", True))


def test_a_covered_call_that_is_tried_again_is_covered_still():
    again = begun(failed_for_a_while(), "transfer", authorities=standing(worlds.SENIOR))
    assert [event.request for event in again.events(ev.ToolIntended)[-2:]] == [again.state.plans.approved.request] * 2


def test_each_try_of_a_covered_call_is_judged_anew():
    world = failed_for_a_while()
    for then, why in (
        (begun(world, "transfer", authorities=standing(frozenset())), "Who approved the plan"),
        (begun(world.with_rules(FREE, WHOLE, msgspec.structs.replace(MONEY, tier=3, quorum=2)), "transfer"), "Policy"),
        (begun(with_tool(world, "transfer", "idempotent", 2), "transfer"), "The tool has another version"),
    ):
        assert then.request.asked.why.startswith(why)
        assert (then.request.asked.tool, then.request.asked.supersedes) == ("transfer", "")


# --- results that are lost ----------------------------------------------------------------------------------------


def with_tool(world: World, name: str, effect: str, version: int) -> World:
    return replace(world, tools={**world.tools, name: worlds.facts(name, effect, version=version)})


def lost(effect: str, version: int, name: str = "post_letter") -> World:
    """A call that began as `effect` in version 1; its worker died, and its tool is of another version now."""
    free = worlds.pol.Rule("free", (name,), "true", 1, "allow", "Free.")
    world = with_tool(opened().with_rules(free), name, effect, 1).asked(worlds.proposed(name, None, to="C-1"))
    return world.after(core.Begin(world.call(name).id))


@pytest.mark.parametrize(("was", "now"), [("once", "idempotent"), ("idempotent", "once"), ("once", "pure")])
def test_of_two_versions_of_a_tool_the_stricter_effect_counts(was, now):
    world = with_tool(lost(was, 1), "post_letter", now, 2)
    again = world.after(core.Begin(world.call("post_letter").id))
    assert again.call("post_letter").status is CallStatus.DOUBTED
    failing = core.Fail(world.call("post_letter").id, 1, "no answer", True, code="no_answer")
    assert world.after(failing).call("post_letter").status is CallStatus.DOUBTED
    shaky = core.Fail(world.call("post_letter").id, 1, "busy", True)
    assert world.after(shaky).call("post_letter").status is CallStatus.FAILED


def test_a_lost_result_whose_tool_has_another_version_is_not_begun_again_unasked():
    world = lost("idempotent", 1)
    assert world.after(core.Begin(world.call("post_letter").id)).events(ev.ToolIntended)[-1].attempt == 2
    newer = with_tool(world, "post_letter", "idempotent", 2).after(core.Begin(world.call("post_letter").id))
    assert newer.call("post_letter").status is CallStatus.DOUBTED
    reads = with_tool(lost("pure", 1), "post_letter", "pure", 2)
    assert reads.after(core.Begin(reads.call("post_letter").id)).events(ev.ToolIntended)[-1].attempt == 2


def test_people_are_counted_for_what_is_asked_and_not_for_what_the_plan_covers():
    world, looked = approved(PAY, inputs={"to": "A"}), []
    given = msgspec.structs.replace(world.given, approvers=lambda: looked.append(1) or ())
    begin = core.Begin(key(world, "transfer"))
    (intent,) = core.decide(begin, world.state, given)
    assert (type(intent), looked) == (ev.ToolIntended, [])
    assert core.decide(begin, begun(world, "transfer").state, given)  # its worker died
    assert looked == []
    gone = core.decide(core.Begin(begin.call, authorities=HAS_LEFT), world.state, given)
    assert (gone[-1].approvers_missing, looked) == (1, [1])


HAS_LEFT = {"sue": (Authority(frozenset()),)}


@pytest.mark.parametrize("effect", ["idempotent", "pure"])
def test_a_lost_result_is_not_begun_again_where_its_approver_lost_the_right(effect):
    world = with_tool(opened().with_rules(FREE, MONEY), "transfer", effect, 1).asked(worlds.transfer(500))
    world = world.after(worlds.decision(world, "approve", "sue"))
    call = world.call("transfer").id
    world = world.after(core.Begin(call))
    again = world.after(core.Begin(call, authorities={"sue": (Authority(worlds.MAY["sue"]),)}))
    assert again.call("transfer").attempt == 2
    left = world.after(core.Begin(call, authorities=HAS_LEFT))
    assert left.call("transfer").status is (CallStatus.DOUBTED if effect == "idempotent" else CallStatus.FAILED)
    assert "who approved it may not decide it any more" in told(left)


def test_a_lost_result_of_a_plans_call_is_not_begun_again_where_the_plan_covers_it_no_longer():
    world = begun(approved(PAY, inputs={"to": "A"}), "transfer")
    assert begun(world, "transfer").events(ev.ToolIntended)[-1].attempt == 2
    left = begun(world, "transfer", authorities=HAS_LEFT)
    assert left.call("transfer").status is CallStatus.DOUBTED
    assert "who approved the plan may not decide it any more" in told(left)
    stricter = begun(world.with_rules(FREE, WHOLE, msgspec.structs.replace(MONEY, quorum=2)), "transfer")
    assert "policy asks for more than the approval of the plan has met" in told(stricter)


def test_a_lost_result_is_not_begun_again_where_policy_asks_for_a_person_by_now():
    free = msgspec.structs.replace(MONEY, gate="allow", tier=1)
    world = opened().with_rules(free).asked(worlds.transfer(500))
    world = world.after(core.Begin(world.call("transfer").id))
    asks = world.with_rules(MONEY).after(core.Begin(world.call("transfer").id))
    assert asks.call("transfer").status is CallStatus.DOUBTED
    assert "policy asks for a person now" in told(asks)


def told(world: World) -> str:
    """Why the call that ran is not begun again."""
    return str(world.history[-1][0].reason)


def test_a_delegate_whose_result_is_lost_goes_on_whatever_the_version_of_the_tool():
    rules = (FREE, WHOLE, MONEY)
    world = approved(
        step("transfer", "state.receipt", amount={"minor": 5}, _delegate="anonymous", _scopes=["input"]), rules=rules
    )
    world = with_tool(begun(world, "transfer"), "transfer", "idempotent", 2)
    assert begun(world, "transfer").events(ev.ToolIntended)[-1].attempt == 2


# --- a plan that was not let through ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["reject", "ignore", "expire"])
def test_a_plan_that_was_not_let_through_waits_no_more(how):
    world = opened().with_rules(*RULES).after(ProposePlan((LOAD,), "user:pat"))
    end = core.Expire(world.request.asked.request) if how == "expire" else worlds.decision(world, how, "sue")
    world = world.after(end)
    assert (world.state.plans.proposed, pending(world.state)) == ("", [])
    newest = catalogue([declare("tests", 1, {"type": "object"})])
    given = msgspec.structs.replace(world.given, schemas=newest)
    said = core.decide(core.Say("customer", "Hello?", "customer"), world.state, given)
    assert [event.after for event in said if isinstance(event, ev.StateMigrated)] == [1]


def test_the_fold_of_what_happened_is_the_state_with_plans_that_wait_and_plans_that_were_shaken():
    members = (InstanceGiven("x", {"to": "own"}), InstanceGiven("y", {"to": "other"}, "C-9", "k-9"))
    world = approved(PAY, instances=members)
    world = world.after(ProposePlan((PAY,), "user:eve", instances=for_x("a stranger"), replace=True))
    stored = [(ev.decode(ev.encode(event)), at) for event, at in world.history]
    assert fold(stored, SessionState()) == world.state
