"""What one rule says of a call, field by field, and what the cases beside a policy find."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentstate.engine import policy as pol
from agentstate.engine.guards import NAMES
from agentstate.engine.policy.cases import (
    MAX_CASES,
    Case,
    Cases,
    Want,
    arguments_of,
    findings,
    load_cases,
    run,
    undecided,
)
from agentstate.engine.policy.rules import MAX_BYTES, Step
from agentstate.engine.policy.verdict import Verdict
from agentstate.engine.speech import SAY, read

STICKY = pol.Sticky("session", 60, 2)
WHOLE = pol.Rule(
    "whole", ("t",), "arguments.n > 1", 2, "approve", "Why.", 2, 99, ("state.x",), 5, ("role:a", "role:b"), True,
    ("code",), ("arguments.n",), (Step(7, ("role:c",)),), STICKY, (pol.Editable("arguments.n", "down"),), True,
)  # fmt: skip
SAID = Verdict(
    "approve", 2, "whole", "p@3", "Why.", 2, 99, ("state.x",), hold=5, reviewers=(("role:a", "role:b"),),
    four_eyes=True, reasons=("code",), retype=("arguments.n",), chain=(pol.Escalation(7, (("role:c",),)),),
    sticky=STICKY, edits=(pol.Editable("arguments.n", "down"),), proposer_may_approve=True,
)  # fmt: skip


def said(*rules: pol.Rule, n: Any = 2, tool: str = "t", effect: str = "once") -> Verdict:
    return pol.evaluate(pol.Policy("p", 3, rules), tool, effect, {"arguments": {"n": n}})


def test_a_rule_that_matches_says_all_that_it_names():
    assert said(WHOLE) == pol.joined([SAID])
    assert said(replace(WHOLE, tools=("*",)), tool="other") == pol.joined([SAID])
    offering = replace(WHOLE, quorum=1, retype=(), hold=0)
    assert said(offering).sticky == STICKY
    bare = pol.Rule("bare", ("t",), "true", 1, "allow", "Fine.")
    assert said(bare) == pol.joined([Verdict("allow", 1, "bare", "p@3", "Fine.")])


def test_a_rule_that_cannot_be_read_asks_people_at_the_highest_tier_without_an_offer():
    verdict = said(WHOLE, n="x")
    assert (verdict.gate, verdict.tier, verdict.sticky, verdict.proposer_may_approve) == ("approve", 3, None, False)
    assert verdict.why.startswith("The rule could not be read on this call: ")


def test_without_a_rule_reading_is_free_and_anything_else_needs_a_person():
    for rules, n in (((), 2), ((WHOLE,), 1)):
        assert said(*rules, n=n, effect="pure") == Verdict("allow", 0, "default.read_only", "p@3", "Reads only.")
        asks = Verdict("approve", 2, "default.effect", "p@3", "No rule speaks of this tool.")
        assert [said(*rules, n=n, effect=effect) for effect in ("once", "idempotent")] == [asks, asks]


def test_without_a_rule_words_are_said_and_a_delegate_needs_a_person():
    allowed = Verdict("allow", 0, "default.say", "p@3", "No rule speaks of these words.")
    asks = Verdict("approve", 2, "default.delegate", "p@3", pol.DELEGATES)
    assert (said(tool=SAY), said(tool=pol.DELEGATE)) == (allowed, asks)
    assert said(replace(WHOLE, tools=("*",)), tool=SAY) == allowed


# --- what a rule reads ------------------------------------------------------------------------------------------------

USERS = {"state": {"users": {"a": 1}}, "arguments": {"id": "a"}}


def reads(when: str, gate: str = "allow", tier: int = 0) -> pol.Rule:
    return pol.Rule("reads", ("t",), when, tier, gate, "Why.")


def on_users(*rules: pol.Rule, judge: Any = None) -> tuple[str, int]:
    given = {} if judge is None else {"judge": judge}
    verdict = pol.evaluate(pol.Policy("p", 3, rules), "t", "pure", USERS, **given)
    return verdict.gate, verdict.tier


def test_an_object_is_no_list_unless_another_rule_reads_its_entries():
    other = pol.Rule("other", ("u",), "state.users[arguments.id] == 1", 0, "allow", "Why.")
    assert on_users(reads("'a' in state.users")) == ("approve", 3)
    assert on_users(reads("'a' in state.users"), other) == ("allow", 0)
    assert on_users(reads("'a' in state.users", "approve", 2), other) == ("approve", 2)
    assert on_users(reads("'a' in state.users", "approve", 2)) == ("approve", 3)


def test_a_rule_that_asks_may_look_for_a_missing_key_and_one_that_allows_may_not():
    assert on_users(reads("!('a' in state.users)", "approve", 2)) == ("allow", 0)
    assert on_users(reads("!('z' in state.users)")) == ("approve", 3)


def test_a_rule_on_a_value_that_breaks_its_declared_type_asks():
    assert on_users(reads("arguments.id == 'a'")) == ("allow", 0)
    assert on_users(reads("arguments.id == 'a'"), judge=lambda place, value: f"{place}: wrong") == ("approve", 3)


# --- cases ----------------------------------------------------------------------------------------------------------

POLICY = pol.Policy("p", 3, (pol.Rule("big", ("t",), "arguments.n > 1", 2, "approve", "Big."),))
BIG = Case("big", "t", Want("approve", 2, "big"), {"n": 2})
SMALL = Case("small", "t", Want("approve", 2, "default.effect"), {"n": 1})


def found(*cases: Case, **given: Any) -> list[str]:
    return findings(POLICY, Cases(cases, given))


def test_a_policy_that_says_what_each_case_wants_has_no_finding():
    assert found(BIG, SMALL) == []
    (result, _) = run(POLICY, Cases((BIG, SMALL)))
    assert (result.case, result.said.rule, result.fault) == (BIG, "big", "")


def test_each_field_in_which_the_policy_says_something_else_is_named_with_both_values():
    wants = Want("hold", 1, "small", {"quorum": 2, "why": "Big.", "none": 5})
    fault = "gate: got 'approve', want 'hold'; tier: got 2, want 1; rule: got 'big', want 'small'"
    fault += "; quorum: got 1, want 2; none: got None, want 5"
    assert found(BIG, replace(BIG, name="other", want=wants)) == [f"case 'other': {fault}"]


def test_a_case_says_whether_its_rule_can_be_read():
    unreadable = replace(BIG, name="odd", arguments={"n": "x"}, want=Want("approve", 3, "big", unreadable=True))
    assert found(BIG, unreadable) == []
    silent = replace(unreadable, want=replace(unreadable.want, unreadable=False))
    assert found(BIG, silent) == ["case 'odd': unreadable: got True, want False"]
    wrong = replace(BIG, want=replace(BIG.want, unreadable=True))
    assert found(wrong) == ["case 'big': unreadable: got False, want True"]


def test_a_case_is_given_its_own_values_before_those_of_the_file_and_its_arguments_before_both():
    policy = pol.Policy("p", 3, (pol.Rule("s", ("t",), "state.n + arguments.n == 5", 1, "allow", "Five."),))
    case = Case("c", "t", Want("allow", 1, "s"), {"n": 2})
    for given, own in (({"state": {"n": 3}}, {}), ({"state": {"n": 9}}, {"state": {"n": 3}, "arguments": {"n": 9}})):
        assert findings(policy, Cases((replace(case, given=own),), given)) == []


def test_a_case_of_words_is_read_from_its_text_and_no_other_is():
    words = Case("w", SAY, Want("approve", 2, "long"), {"text": "You get $4 back."})
    assert arguments_of(words) == read("You get $4 back.")
    assert arguments_of(replace(words, arguments={"text": "x", "private": ["state.pin"]}))["private"] == ["state.pin"]
    assert arguments_of(BIG) == {"n": 2}


def test_a_case_is_judged_with_the_effect_that_it_names():
    reads = replace(SMALL, name="reads", effect="pure", want=Want("allow", 0, "default.read_only"))
    assert found(BIG, reads) == []


def test_two_cases_of_one_name_and_a_rule_without_a_case_are_found():
    assert found(BIG, BIG) == ["two cases are called 'big'"]
    assert found(SMALL) == ["rule 'big' decides no case"]
    assert undecided(POLICY, Cases((SMALL,))) == ["big"]


def document(**more: Any) -> bytes:
    case = {"name": "c", "tool": "t", "want": {"gate": "allow", "tier": 1, "rule": "r"}}
    return msgspec.json.encode({"cases": [{**case, **more}]})


def test_cases_are_read_up_to_their_size():
    short = document()
    assert load_cases(short + b" " * (MAX_BYTES - len(short))).cases[0].effect == "once"
    with pytest.raises(pol.BadPolicy) as refused:
        load_cases(short + b" " * (MAX_BYTES + 1 - len(short)))
    assert refused.value.detail == f"cases: {MAX_BYTES + 1} bytes, {MAX_BYTES} allowed"


def test_what_is_no_case_is_refused_with_its_reason():
    for data, reason in (
        (b"{", "Input data was truncated"),
        (document(name=""), "length >= 1"),
        (b"\xff", "malformed"),
    ):
        with pytest.raises(pol.BadPolicy) as refused:
            load_cases(data)
        assert refused.value.detail.startswith("cases: ")
        assert reason in refused.value.detail
    many = Cases((BIG,) * (MAX_CASES + 1))
    with pytest.raises(pol.BadPolicy, match=f"length <= {MAX_CASES}"):
        load_cases(msgspec.json.encode(many))


def test_values_that_no_rule_reads_are_refused_by_name():
    names = ", ".join(NAMES)
    for data in (document(given={"b": 1, "a": 1, "state": {}}), msgspec.json.encode(Cases((), {"a": 1, "b": 2}))):
        with pytest.raises(pol.BadPolicy) as refused:
            load_cases(data)
        assert refused.value.detail == f"cases: rules read no a, b; they read {names}"
