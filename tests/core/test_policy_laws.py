"""Laws of policies: adding a rule never asks for less, the order does not matter, and whatever cannot be read is asked
about at tier 3; hostile documents are refused by name and in no time.
"""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import policy as pol
from agentstate.engine.policy import GATES, Verdict, may_review, reviewers_at
from agentstate.engine.policy.edits import Editable
from agentstate.engine.policy.terms import SCOPES
from tests.core.made import values
from tests.searching import drawn

names = st.sampled_from(["role:supervisor", "team:retail", "user:maya", "user:noor"])
groups = st.lists(names, min_size=1, max_size=2, unique=True).map(tuple)
PATHS = ["arguments.n", "arguments.to"]
WHENS = ["true", "false", "arguments.n > 5", "1 / 0 > 0", "state.gone.further", "arguments.n"]


@st.composite
def made(draw: Any, name: str) -> pol.Rule:
    """A sound rule."""
    gate = draw(st.sampled_from(GATES[:-1]))  # the last is for words alone
    asks = gate != "allow"
    expires_in = draw(st.integers(100, 900))
    afters = sorted(draw(st.sets(st.integers(1, 99), max_size=3))) if asks else []
    quorum = draw(st.integers(1, 3))
    sticky = st.builds(
        pol.Sticky, st.sampled_from(SCOPES), st.integers(1, 99), st.integers(1, 9), st.sampled_from(["", "true"])
    )
    return pol.Rule(
        name,
        ("*",),
        draw(st.sampled_from(WHENS)),
        tier := draw(st.integers(0, 3)),
        gate,
        f"why {name}",
        quorum,
        expires_in,
        hold=draw(st.integers(1, 60)) if gate == "hold" else 0,
        reviewers=draw(groups) if asks and draw(st.booleans()) else (),
        four_eyes=(eyes := draw(st.booleans()) if asks else False),
        reasons=tuple(draw(st.sets(st.sampled_from(["a", "b"]), max_size=2))),
        retype=tuple(draw(st.sets(st.sampled_from(["arguments.n", "arguments.to"]), max_size=2))),
        chain=tuple(pol.Step(after, draw(groups)) for after in afters),
        sticky=draw(st.none() | sticky) if asks and quorum == 1 else None,
        edits=tuple(Editable(path) for path in draw(st.sets(st.sampled_from(PATHS)))) if asks else (),
        proposer_may_approve=draw(st.booleans()) if asks and tier < 3 and not eyes else False,
    )


rules = st.integers(1, 5).flatmap(lambda count: st.tuples(*(made(f"r{number}") for number in range(count))))
calls = st.fixed_dictionaries({}, optional={"n": st.integers(0, 10) | st.text(max_size=2)})
PEOPLE = [
    frozenset(each)
    for each in ([], ["role:supervisor"], ["team:retail", "user:maya"], ["role:supervisor", "team:retail", "user:noor"])
]


def judged(some: tuple[pol.Rule, ...], arguments: Any) -> Verdict:
    return pol.evaluate(pol.Policy("p", 1, some), "t", "once", {"arguments": arguments, "state": {}})


def is_no_weaker(more: Verdict, less: Verdict) -> bool:
    """Whether `more` asks for at least as much as `less`, part by part."""
    waits = sorted({0, *(step.after for each in (more, less) for step in each.chain)})
    return (
        GATES.index(more.gate) >= GATES.index(less.gate)
        and more.tier >= less.tier
        and more.quorum >= less.quorum
        and more.hold >= less.hold
        and more.four_eyes >= less.four_eyes
        and set(more.reasons) >= set(less.reasons)
        and set(more.retype) >= set(less.retype)
        and (less.gate == "allow" or more.expires_in <= less.expires_in)
        and all(
            not may_review(reviewers_at(more.terms, wait), who) or may_review(reviewers_at(less.terms, wait), who)
            for wait in waits
            for who in PEOPLE
            if wait < more.expires_in
        )
        and grants_no_more(more, less)
        and (less.gate == "allow" or set(more.edits) <= set(less.edits))
        and (less.gate == "allow" or more.proposer_may_approve <= less.proposer_may_approve)
    )


def grants_no_more(more: Verdict, less: Verdict) -> bool:
    """An offer of `more` is one of `less`, and narrower; what goes on without asking needs none."""
    if more.sticky is None or less.gate == "allow":
        return True
    if less.sticky is None:
        return False
    one, other = more.sticky, less.sticky
    return (
        SCOPES.index(one.scope) <= SCOPES.index(other.scope)
        and one.seconds <= other.seconds
        and one.uses <= other.uses
        and other.limit in one.limit
    )


@settings(max_examples=drawn(120))
@given(rules, made("more"), calls)
def test_adding_a_rule_that_matches_never_asks_for_less(some, more, arguments):
    before = judged(some, arguments)
    after = judged((*some, more), arguments)
    if before.rule.startswith("default."):  # no rule spoke: an author may then speak of it, and say less
        return
    assert is_no_weaker(after, before)


@settings(max_examples=drawn(80))
@given(rules, calls)
def test_a_verdict_is_as_strict_as_each_rule_alone(some, arguments):
    whole = judged(some, arguments)
    for rule in some:
        alone = judged((rule,), arguments)
        if not alone.rule.startswith("default."):
            assert is_no_weaker(whole, alone)


@settings(max_examples=drawn(60))
@given(rules.flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))), calls)
def test_the_order_of_rules_asks_for_the_same(both, arguments):
    one, other = (judged(tuple(each), arguments) for each in both)
    assert is_no_weaker(one, other)
    assert is_no_weaker(other, one)


@settings(max_examples=drawn(80))
@given(rules, calls, st.sampled_from(["1 / 0 > 0", "state.gone.further", "arguments.n", "arguments.none > 1"]))
def test_whatever_cannot_be_read_is_asked_about_at_tier_3(some, arguments, unreadable):
    broken = pol.Rule("broken", ("*",), unreadable, 0, "allow", "Free.")
    verdict = judged((*some, broken), {"n": "five"})
    assert (verdict.gate, verdict.tier) == ("approve", 3)
    assert verdict.sticky is None


@settings(max_examples=drawn(40))
@given(rules)
def test_a_policy_reads_back_as_it_was_written(some):
    sound = [msgspec.structs.replace(rule, sticky=None) for rule in some if rule.when != "arguments.n"]
    policy = pol.Policy("p", 1, tuple(sound))
    assert pol.load(msgspec.json.encode(policy)) == policy


RULE: dict[str, Any] = {"name": "r", "tools": ["t"], "when": "true", "tier": 1, "gate": "approve", "why": "w"}
HOSTILE: dict[str, tuple[Any, str]] = {
    "a hold without its seconds": ({"gate": "hold"}, "needs hold"),
    "a hold that is none": ({"gate": "allow", "hold": 5}, "asks nobody"),
    "reviewers of what nobody is asked": ({"gate": "allow", "reviewers": ["role:supervisor"]}, "asks nobody"),
    "a reviewer of no kind": ({"reviewers": ["maya"]}, "want role:"),
    "a reviewer with a line break": ({"reviewers": ["user:maya\nroot"]}, "want role:"),
    "a chain that goes back": (
        {"chain": [{"after": 20, "reviewers": ["role:x"]}, {"after": 10, "reviewers": ["role:y"]}]},
        "follow each other",
    ),
    "a chain after the end": (
        {"expires_in": 60, "chain": [{"after": 60, "reviewers": ["role:x"]}]},
        "follow each other",
    ),
    "a chain to nobody": ({"chain": [{"after": 5, "reviewers": []}]}, "reviewers"),
    "a path that is none": ({"retype": ["amount"]}, "want a path"),
    "a grant for everybody": ({"sticky": {"scope": "tenant", "seconds": 60, "uses": 1}}, "scope"),
    "a grant for ever": ({"sticky": {"scope": "session", "seconds": 10**12, "uses": 1}}, "a grant ends"),
    "a grant without uses": ({"sticky": {"scope": "session", "seconds": 60, "uses": 0}}, "a grant ends"),
    "a grant with a limit that is none": (
        {"sticky": {"scope": "session", "seconds": 60, "uses": 1, "limit": "arguments..n"}},
        "rule 'r'",
    ),
    "a grant of what is typed each time": (
        {"retype": ["arguments.n"], "sticky": {"scope": "session", "seconds": 60, "uses": 1}},
        "sticky, or retype and hold",
    ),
    "a grant of what is delayed each time": (
        {"hold": 5, "sticky": {"scope": "session", "seconds": 60, "uses": 1}},
        "sticky, or retype and hold",
    ),
    "a grant of what takes two": (
        {"quorum": 2, "sticky": {"scope": "session", "seconds": 60, "uses": 1}},
        "several people",
    ),
    "a name with a line break": ({"name": "a\nb"}, "a name is made of"),
    "an edit of what is no argument": ({"edits": [{"path": "amount"}]}, "want a path"),
    "an edit in no direction": ({"edits": [{"path": "arguments.n", "only": "sideways"}]}, "only"),
    "an edit that is named twice": ({"edits": [{"path": "arguments.n"}, {"path": "arguments.n"}]}, "once"),
    "an edit of what nobody decides": ({"gate": "allow", "edits": [{"path": "arguments.n"}]}, "asks nobody"),
    "a reason code with blanks": ({"reasons": ["because I say so"]}, "a reason code"),
    "a tier of text": ({"tier": "3"}, "tier"),
    "a tier that is a fraction": ({"tier": 2.5}, "tier"),
    "an endless deadline": ({"expires_in": 10**15}, "expires_in"),
    "a thousand reviewers": ({"reviewers": ["role:x"] * 1000}, "reviewers"),
    "an expression that is nested deeply": ({"when": "(" * 900 + "true" + ")" * 900}, "rule 'r'"),
    "an expression of many loops": ({"when": " && ".join(["[1].all(x, x > 0)"] * 20)}, "comprehensions"),
    "a name that is not declared": ({"when": "customers.all"}, "undeclared"),
    "a look at the clock": ({"when": "now() > 5"}, "undeclared"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_rule_is_refused_by_name(name):
    changes, reason = HOSTILE[name]
    with pytest.raises(pol.BadPolicy) as refusal:
        pol.load(json.dumps({"name": "p", "version": 1, "rules": [{**RULE, **changes}]}).encode())
    assert reason in refusal.value.detail
    assert len(refusal.value.detail) < 3_000


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"[" * 100_000, ""),
        (b'{"name":"p","version":1,"rules":' + b"[" * 50_000, ""),
        (b" " * 1_000_001, "bytes"),
        (
            json.dumps({"name": "p", "version": 1, "rules": [{**RULE, "name": f"r{n}"} for n in range(501)]}).encode(),
            "rules",
        ),
        (json.dumps({"name": "../p", "version": 1, "rules": []}).encode(), "want a name"),
        (json.dumps({"name": "p", "version": 0, "rules": []}).encode(), "want a name"),
        (b'{"name":"p","version":1,"rules":[],"name":"q","else":1}', "else"),
        (b"\xff\xfe", ""),
        (b"null", ""),
    ],
)
def test_a_hostile_document_is_refused_by_name(document, reason):
    with pytest.raises(pol.BadPolicy) as refusal:
        pol.load(document)
    assert reason in refusal.value.detail


@settings(max_examples=drawn(80))
@given(st.dictionaries(st.sampled_from([*RULE, "hold", "reviewers", "chain", "sticky", "retype", "reasons"]), values))
def test_any_change_to_a_rule_is_refused_by_name_or_sound(changes):
    """What is loaded can be evaluated on anything."""
    document = {"name": "p", "version": 1, "rules": [{**RULE, **changes}]}
    try:
        policy = pol.load(msgspec.json.encode(document))
    except pol.BadPolicy:
        return
    assert pol.evaluate(policy, "t", "once", {"arguments": {}}).gate in GATES


def test_an_expensive_guard_is_asked_about_instead_of_evaluated():
    when = "arguments.a.all(x, arguments.a.all(y, arguments.a.map(z, z + y).size() > x))"
    policy = pol.load(
        json.dumps({"name": "p", "version": 1, "rules": [{**RULE, "gate": "allow", "when": when}]}).encode()
    )
    started = time.process_time()
    verdict = pol.evaluate(policy, "t", "once", {"arguments": {"a": list(range(3_000))}})
    assert time.process_time() - started < 2
    assert (verdict.gate, verdict.tier) == ("approve", 3)
    assert "too_costly" in verdict.why
