"""Every guard of the approval life cycle is noticed: with that one taken away, the exploration breaks a law, or the
test that its row names fails.

A guard is an `if` that raises or returns in the rules about requests, and each is in the table, by its function and
condition: a new one without a row fails here, and so does a row whose guard is gone.
"""

from __future__ import annotations
import __future__

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, ModuleType
from typing import Any

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide import approvals, claims, gates, holds, permits, reviewing
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.lifecycle import CallStatus
from agentstate.errors import Broken, Invalid, Refused
from tests.core import test_approval_explorer as explorer
from tests.core import test_approvers as approvers
from tests.core import test_asks_approvals as asks
from tests.core import test_charts_session, test_engine_approval, worlds
from tests.core import test_edits as edits
from tests.core import test_families as families
from tests.core import test_fatigue as fatigue
from tests.core import test_proposers as proposers
from tests.core import test_speech as speech
from tests.core import test_value_authors as values
from tests.core.worlds import MAY, transfer, waiting

MODULES = (approvals, claims, gates, holds, permits, reviewing)
Probe = Callable[[], object]


def explored(terms: str, depth: int = 4) -> Probe:
    """All orders of what can happen from there; what must be refused is tried as well."""
    return partial(_through, terms, {**explorer.MOVES, **explorer.HOPELESS}, depth)


def stricter(terms: str = "four eyes", depth: int = 4) -> Probe:
    """The same with a policy that becomes stricter."""
    few = (
        "ann approves",
        "sue approves",
        "zoe approves",
        "sue takes the session over",
        "the hold is over",
        "the call begins",
    )
    return partial(_through, terms, {**{name: explorer.MOVES[name] for name in few}, **explorer.STRICTER}, depth)


def _through(terms: str, moves: dict[str, explorer.Move], depth: int) -> None:
    for _ in explorer.explored(explorer.start(terms), depth, moves):
        pass


# What the exploration cannot meet, each as what must hold.


def the_tool_is_gone() -> None:
    """A request whose tool is not registered any more is refused by name."""
    world = waiting()
    gone = worlds.replace(world, tools={name: tool for name, tool in world.tools.items() if name != "transfer"})
    with pytest.raises(Refused, match="not registered"):
        gone.after(worlds.decision(gone, "approve", "ann"))


def a_tool_that_never_was() -> None:
    world = worlds.opened().asked(worlds.proposed("fly"))
    assert world.events(ev.CallRefused)[-1].code == "unknown_tool"


def an_activity_that_is_not_the_tools() -> None:
    call = ev.CallProposed("1", "authorize", {}, None, "by_card")
    assert worlds.opened().asked(call).events(ev.CallRefused)[-1].code == "unknown_activity"


def answered_before() -> None:
    world = waiting().after(worlds.decision(waiting(), "respond", "ann")).asked(transfer(100_000))
    assert world.events(ev.CallRefused)[-1].code == "answered_before"


def expired_before() -> None:
    world = waiting()
    world = world.after(core.Expire(world.request.asked.request)).asked(transfer(100_000))
    assert world.events(ev.CallRefused)[-1].code == "expired_before"


def what_policy_lets_through_needs_nobody() -> None:
    world = worlds.opened().asked(worlds.AUTHORIZE)
    assert world.call("authorize").status is CallStatus.READY


def an_escalation_that_is_not_offered() -> None:
    """A rule without a chain offers none, and says that; one whose chain is at its end says that."""
    with pytest.raises(core.DecisionNotAllowed, match="not offered"):
        waiting().after(worlds.decision(waiting(), "escalate", "ann", reason="because"))


def a_chain_that_is_at_its_end() -> None:
    world = explorer.start("reviewers and a chain")
    key = world.request.asked.request
    world = world.after(core.Escalate(key, 1), core.Escalate(key, 2))
    with pytest.raises(core.DecisionNotAllowed, match="nobody to pass it on to"):
        explorer.decides("escalate", "zoe")(world)


def what_is_missing_is_named() -> None:
    """A tier that is too high is another refusal than a request for others."""
    world = waiting(300_000)
    with pytest.raises(core.DecisionNotAllowed, match="decide_tier3"):
        world.after(worlds.decision(world, "reject", "ann"))


def who_may_approves() -> None:
    test_engine_approval.test_an_approved_call_is_intended_with_the_digest_that_was_approved()


def what_was_not_typed_is_named() -> None:
    with pytest.raises(Invalid, match="type it yourself"):
        explorer.decides("approve", "sue", retyped={})(explorer.start("reasons and typing"))


def a_request_that_never_was() -> None:
    with pytest.raises(core.UnknownRequest):
        waiting().after(core.Decide("none", "approve", "sue", MAY["sue"]))


def a_passed_on_request_is_of_whom_it_was_passed_to() -> None:
    world = explorer.start("reviewers and a chain")
    key = world.request.asked.request
    world = explorer.decides("escalate", "sue")(world)
    assert world.state.requests[key].step == 1
    assert world.request.asked.request == key


def a_fork_keeps_its_effects_to_itself() -> None:
    from tests.core import test_forks

    names = [name for name in vars(test_forks) if name.startswith("test_")]
    assert names
    raise_if_all_pass(test_forks, names)


def raise_if_all_pass(module: ModuleType, names: list[str]) -> None:
    for name in names:
        test = getattr(module, name)
        if not inspect.signature(test).parameters:
            test()


def what_policy_held_runs_when_approved() -> None:
    """Its time is policy's: somebody who approves it does not begin another."""
    world = explorer.decides("approve", "ann")(explorer.start("held by policy"))
    assert world.call("transfer").status is CallStatus.READY


def unopposed_asks_for_an_approval_when_policy_does() -> None:
    world = explorer.start("held by policy")
    world = world.after(core.HoldOver(world.request.asked.request))
    assert world.call("transfer").status is CallStatus.READY
    still = world.after(core.Begin(world.call("transfer").id))
    assert still.call("transfer").status is CallStatus.RUNNING
    asked = explorer.under(7)(world)
    asked = asked.after(core.Begin(asked.call("transfer").id))
    assert asked.call("transfer").status is CallStatus.WAITING


def a_call_that_needed_nobody_is_asked_about_once_policy_wants_it() -> None:
    test_engine_approval.test_a_call_that_needed_nobody_waits_when_policy_has_changed_before_it_ran()


def who_lost_the_right_stops_it() -> None:
    asks.test_an_approver_who_lost_the_right_meanwhile_stops_it()


def lent_authority_is_enough_to_object() -> None:
    world = explorer.start("held by policy")
    key = world.request.asked.request
    lent = (Authority(MAY["sue"], explorer.NAMES["sue"], "sue"),)
    assert not world.after(core.Undo(key, "vic", frozenset(), lent=lent)).request.held_until


REVIEWED, EYES, REASONS = explored("reviewers and a chain"), explored("four eyes"), explored("reasons and typing")
HELD, BY_POLICY = explored("approved, then held"), explored("held by policy")
# By function and condition, or the beginning of a long one: what fails without it.
ROWS: dict[str, Probe] = {
    "approvals.concluded: command.decision in ('approve', 'edit')": who_may_approves,
    "approvals.concluded: command.decision == 'escalate'": a_passed_on_request_is_of_whom_it_was_passed_to,
    "approvals.decided: command.deputy and (not request.asked.approvers_missing)":
    approvers.test_a_deputy_decides_only_what_says_that_too_few_are_left,
    "approvals.must_be_complete: command.decision not in request.asked.allowed": an_escalation_that_is_not_offered,
    "approvals.must_be_complete: command.decision in ('reject', 'edit', 'escalate') and (not command.r...": EYES,
    "approvals.must_be_complete: command.arguments is not None and command.decision != 'edit'": EYES,
    "approvals.must_be_complete: command.decision == 'respond' and (not command.response.strip())": EYES,
    "approvals.must_be_complete: command.decision == 'escalate' and request.step >= len(request.terms....":
    a_chain_that_is_at_its_end,
    "approvals.must_give_code: command.code and command.code not in codes": REASONS,
    "approvals.must_give_code: codes and command.decision in REASONED and (not command.code)": REASONS,
    "approvals.must_have_retyped: path not in command.retyped": what_was_not_typed_is_named,
    "approvals.must_have_retyped: ev.digest(command.retyped[path]) != ev.digest(wanted)": REASONS,
    "approvals.as_seen: command.shown is not None and command.shown.data.get('digest') != shown": EYES,
    "approvals.as_seen: command.seen != shown and (command.seen or request.approved_arguments is not N...":
    explored("two people"),
    "approvals._approve: request.held_until and request.terms.gate != 'hold'": HELD,
    "approvals._approve: command.decision == 'edit'": edits.test_a_lowered_amount_counts_as_the_editors_approval,
    "approvals._let_through: len(request.approvals) + 1 < quorum": EYES,
    "approvals._edit: own is None": edits.test_an_edit_by_somebody_who_is_left_out_is_a_proposal,
    "approvals._approving_edit: not edit_approves(request, arguments, verdict, command.code)":
    edits.test_a_rule_of_the_new_arguments_that_names_nothing_is_asked,
    "approvals.edit_approves: verdict.four_eyes or terms.four_eyes or not_editable(named, request.argum...":
    edits.test_under_four_eyes_no_edit_counts,
    "approvals._must_not_be_settled: mark in state.refused or any((each.mark == mark for each in state.settle...":
    edits.test_what_was_edited_and_rejected_is_refused_in_both_forms,
    "gates.by_people: verdict.gate == 'approve'":
    edits.test_an_edit_to_a_stranger_is_asked_about_on_the_terms_of_its_own_verdict,
    "approvals._edited: command.arguments is None": EYES,
    "approvals._edited: command.arguments == shown": EYES,
    "approvals.escalated: request.held_until or command.step != request.step + 1 or command.step > len...": REVIEWED,
    "approvals.expired: request.held_until": HELD,
    "approvals._facts: facts is None": the_tool_is_gone,
    "gates.gate: facts is None": a_tool_that_never_was,
    "gates.gate: (misplaced := (without_activity(call, facts) or not_in_this_state(state, call, context)))":
    test_charts_session.test_a_tool_that_is_not_allowed_here_is_refused_by_rule,
    "gates.gate: (full := without_room(state, call, context))":
    families.test_no_more_delegates_are_at_work_than_the_agent_declares,
    "gates.judged: (refused := refused_before(seen, call))":
    test_engine_approval.test_the_same_rejected_call_proposed_again_is_refused_without_a_new_request,
    "gates.refused_before: not state.refused or ev.digest(call.tool, call.arguments) not in state.refused":
    what_policy_lets_through_needs_nobody,
    "gates.judged: (settled := settled_before(seen, call))": answered_before,
    "gates.preview_of: (delegate := delegate_of(state.plans, call.id))":
    families.test_the_request_says_that_a_session_of_its_own_acts,
    "gates.judged: (held := held_back(state, call, facts, verdict))": a_fork_keeps_its_effects_to_itself,
    "gates.judged: (too_often := asked_too_often(state, call, context))":
    fatigue.test_after_three_rejections_no_more_is_asked_and_the_model_is_told,
    "gates.judged: verdict.gate == 'allow'": what_policy_lets_through_needs_nobody,
    "gates.judged: (never := refused_by_rule(call, verdict))":
    speech.test_refused_words_are_told_to_the_model_by_rule_and_said_to_nobody,
    "gates.refused_by_rule: verdict.gate != 'refuse'": speech.test_held_words_wait_for_a_person_and_are_said_exactly,
    "gates.settled_before: call.tool == SAY and each.mark == ANY_WORDS":
    speech.test_nobody_is_asked_again_about_words_before_somebody_speaks,
    "approvals._must_not_be_refused: verdict.gate == 'refuse'":
    speech.test_words_that_a_rule_refuses_by_now_cannot_be_approved_and_are_not_said,
    "gates.with_approvers: context.approvers is None or (asked.terms or Terms()).gate == 'hold'":
    approvers.test_a_delay_needs_no_approval_and_counts_nobody,
    "gates.settled_before: each.mark == mark and each.how == 'responded'": answered_before,
    "gates.settled_before: each.mark == mark": expired_before,
    "gates.without_activity: not call.activity or call.activity in facts.activities":
    what_policy_lets_through_needs_nobody,
    "permits.changed_since: not call.approved": a_call_that_needed_nobody_is_asked_about_once_policy_wants_it,
    "permits.changed_since: _now(state, call, facts, passed) != call.approved": REASONS,
    "permits.changed_since: asks_more(verdict.requirements, _met(state, passed, call, verdict, author...": stricter(),
    "permits.changed_since: authorities is not None and lost_right(passed, max(passed.asked.tier, call...":
    explored('reasons and typing'),
    "holds.held: request.terms.gate != 'approve' or not request.terms.hold": what_policy_held_runs_when_approved,
    "holds.undone: not any(('decide' in may for may in (command.may, *(authority.may for authority in ...": BY_POLICY,
    "holds.undone: not request.held_until": HELD,
    "holds.over: not request.held_until": HELD,
    "holds._outcome: request.terms.gate == 'hold'": BY_POLICY,
    "claims.claimed: held == command.by": EYES,
    "claims.claimed: held and (not command.take)": EYES,
    "claims.released: request.claimed_by != command.by": EYES,
    "reviewing.open_request: request is None": a_request_that_never_was,
    "reviewing.open_request: request.status is not RequestStatus.PENDING": EYES,
    "reviewing.entitling: found": who_may_approves,
    "reviewing.entitling: needed(tier) not in own.may": what_is_missing_is_named,
    "reviewing.approving: not why": who_may_approves,
    "reviewing.why_not: {by, authority.of} & behind": EYES,
    "reviewing.why_not: (sharing | authority.shares) & behind":
    proposers.test_a_colleague_who_shares_a_right_with_the_proposer_or_an_approver_is_no_second_person,
    "reviewing.why_left_out: (shared := sorted(sharing & left.keys()))":
    proposers.test_a_colleague_who_shares_a_right_with_the_proposer_or_an_approver_is_no_second_person,
    "reviewing.why_left_out: (shared := sorted(authority.shares & left.keys()))":
    proposers.test_on_a_lent_right_nobody_approves_what_its_lender_may_not,
    "reviewing.why_left_out: by in left": EYES,
    "reviewing.why_left_out: authority.of in left":
    proposers.test_who_lends_a_right_and_who_uses_it_count_as_one_person,
    "reviewing._input_authors: call.tool != PLAN or not has_authors(state.plans)":
    values.test_who_wrote_the_value_that_an_argument_reads_does_not_approve_the_call,
    "reviewing.left_out: terms.proposer_may_approve and tier < HIGHEST_TIER and (not terms.four_eyes)":
    proposers.test_a_policy_may_let_proposers_approve_below_the_highest_tier_on_record,
}  # fmt: skip


def guards() -> Iterator[tuple[str, ModuleType, ast.FunctionDef, int]]:
    """Every guard: its name, its module, its function, and its number among the conditions of the function."""
    for module in MODULES:
        for function in ast.parse(inspect.getsource(module)).body:
            if not isinstance(function, ast.FunctionDef):
                continue
            for number, node in enumerate(_conditions(function)):
                if any(isinstance(each, ast.Raise | ast.Return) for each in node.body):
                    name = f"{module.__name__.rsplit('.', 1)[1]}.{function.name}: {ast.unparse(node.test)}"
                    yield name, module, function, number


def _conditions(function: ast.FunctionDef) -> list[ast.If]:
    return [node for node in ast.walk(function) if isinstance(node, ast.If)]


def without(module: ModuleType, function: ast.FunctionDef, number: int) -> CodeType:
    """The function's code with that one guard left out."""
    node = _conditions(function)[number]
    node.test = ast.copy_location(ast.Constant(False), node.test)
    function.decorator_list = []  # the function is registered already
    alone = ast.fix_missing_locations(ast.Module([function], []))
    flags = __future__.annotations.compiler_flag
    world: dict[str, Any] = dict(vars(module))
    exec(compile(alone, module.__file__ or "", "exec", flags=flags, dont_inherit=True), world)
    return world[function.name].__code__  # type: ignore[no-any-return]


def test_every_guard_has_a_row_and_every_row_its_guard():
    names = [name for name, *_ in guards()]
    assert [name for name in names if sum(_is_meant(row, name) for row in ROWS) != 1] == []
    assert [row for row in ROWS if sum(_is_meant(row, name) for name in names) != 1] == []


def _is_meant(row: str, name: str) -> bool:
    return name == row or (row.endswith("...") and name.startswith(row[:-3]))


@pytest.mark.parametrize("guard", ROWS)
def test_without_any_one_guard_something_fails(guard, monkeypatch):
    _, module, function, number = next(each for each in guards() if _is_meant(guard, each[0]))
    monkeypatch.setattr(getattr(module, function.name), "__code__", without(module, function, number))
    with pytest.raises(
        (
            AssertionError,
            Broken,
            AttributeError,
            TypeError,
            LookupError,
            ValueError,
            StopIteration,
            Refused,
            pytest.fail.Exception,
        )
    ):
        ROWS[guard]()


# Those that are no `if`: an expression, or a rule of several lines. A name, what it is replaced by, where it shows.
WHOLE: dict[str, tuple[Callable[..., Any], Probe]] = {
    "must_be_entitled": (lambda command, *_: Authority(command.may, command.names), REVIEWED),
    "left_out": (lambda *_: {}, EYES),
    "authors_of": (lambda *_: (), edits.test_an_edit_by_somebody_who_is_left_out_is_a_proposal),
    "proposers_of": (
        lambda *_: ("agent:bank",),
        values.test_who_wrote_the_value_that_an_argument_reads_does_not_approve_the_call,
    ),
    "held": (lambda *_: None, HELD),
    "lost_right": (lambda *_: False, REASONS),
    "may_review": (lambda *_: True, REVIEWED),
    "must_have_retyped": (lambda *_: None, REASONS),
    "changed_since": (lambda *_: "", EYES),
    "_outcome": (lambda _: "unopposed", HELD),
    "needed": (lambda _: "decide", lambda: test_engine_approval.test_tier_three_is_for_those_with_the_permission()),
}


@pytest.mark.parametrize("name", WHOLE)
def test_without_any_one_rule_something_fails(name, monkeypatch):
    from agentstate.engine.decide import calls

    passing, probe = WHOLE[name]
    users = [module for module in (*MODULES, calls) if hasattr(module, name)]
    assert users
    for module in users:
        monkeypatch.setattr(module, name, passing)
    with pytest.raises((AssertionError, Broken, pytest.fail.Exception)):
        probe()


PROBES = {probe.__name__: probe for probe in ROWS.values() if not isinstance(probe, partial)}


@pytest.mark.parametrize("name", PROBES)
def test_with_every_guard_there_nothing_fails(name):
    """The exploration itself is test_approval_explorer.py."""
    PROBES[name]()
