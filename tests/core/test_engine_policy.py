"""Policy: the bank's rules case by case, fail closed, the strictest wins, and what is no policy is refused by name."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentstate.engine import policy as pol
from tests.core.made import values
from tests.core.worlds import BANK


@given(values, values, values)
def test_policy_gives_a_verdict_whatever_it_reads(arguments, state, history):
    read = {
        "arguments": {"amount": {"minor": arguments}},
        "state": {"authorization": state},
        "history": {"refusals": history},
    }
    verdict = pol.evaluate(BANK, "transfer", "idempotent", read)
    readable = isinstance(arguments, int) and state == {"allowed": True} and history == 0
    assert verdict.gate == "approve" or readable


def rules(*made: tuple[str, int, int, str]) -> pol.Policy:
    """A policy of rules (gate, tier, quorum, when)."""
    return pol.Policy(
        "p",
        1,
        tuple(
            pol.Rule(f"r{n}", ("*",), when, tier, gate, f"why {n}", quorum, evidence=(f"state.e{n}",))  # type: ignore[arg-type]
            for n, (gate, tier, quorum, when) in enumerate(made)
        ),
    )


gates = st.tuples(
    st.sampled_from(pol.GATES),
    st.integers(0, 3),
    st.integers(1, 3),
    st.sampled_from(["true", "false", "1 / 0 > 0"]),
)


@given(st.lists(gates, min_size=1, max_size=5))
@example([("allow", 3, 1, "true"), ("approve", 1, 2, "true")])
def test_the_strictest_wins_and_hides_no_other(made):
    verdict = pol.evaluate(rules(*made), "t", "once", {})
    met = [
        (gate, tier, quorum) if when == "true" else ("approve", 3, quorum)
        for gate, tier, quorum, when in made
        if when != "false"
    ]
    if not met:
        assert verdict.rule == "default.effect"
        return
    assert verdict.gate == max((gate for gate, _, _ in met), key=pol.GATES.index)
    assert verdict.tier == max(tier for _, tier, _ in met)
    assert verdict.quorum == max(quorum for _, _, quorum in met)


@given(st.permutations([("allow", 1, 1, "true"), ("approve", 2, 2, "true"), ("approve", 3, 1, "true")]))
def test_the_order_of_rules_does_not_matter(made):
    verdict = pol.evaluate(rules(*made), "t", "once", {})
    assert verdict.strictness == (2, 3, 2)
    assert set(verdict.evidence) == {"state.e0", "state.e1", "state.e2"}


def test_a_rule_that_cannot_be_read_keeps_its_quorum_and_its_deadline():
    rule = pol.Rule("r", ("*",), "arguments.x > 1", 1, "allow", "w", quorum=2, expires_in=60)
    verdict = pol.evaluate(pol.Policy("p", 1, (rule,)), "t", "pure", {"arguments": {}})
    assert (verdict.gate, verdict.tier, verdict.quorum, verdict.expires_in) == ("approve", 3, 2, 60)


GOOD = {"name": "r", "tools": ["t"], "when": "true", "tier": 1, "gate": "allow", "why": "w"}
BROKEN = {
    "a rule that does not compile": ({"when": "arguments..x"}, "rule 'r'"),
    "a name that is not declared": ({"when": "environment.home == ''"}, "undeclared reference to 'environment.home'"),
    "a question that is none": ({"when": "1 + 1"}, "want a yes or a no"),
    "an expression that is too long": ({"when": "true || " * 400 + "true"}, "2000 allowed"),
    "a tier above the highest": ({"tier": 4}, "tier"),
    "a quorum of nobody": ({"quorum": 0}, "quorum"),
    "a deadline in the past": ({"expires_in": 0}, "expires_in"),
    "a gate that is none": ({"gate": "maybe"}, "maybe"),
    "no tool": ({"tools": []}, "tools"),
    "evidence that is no path": ({"evidence": ["customer"]}, "want state."),
    "a field that nobody knows": ({"unless": "true"}, "unless"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_policy_is_refused_with_the_reason(name):
    changes, reason = BROKEN[name]
    data = msgspec.json.encode({"name": "p", "version": 1, "rules": [{**GOOD, **changes}]})
    with pytest.raises(pol.BadPolicy) as refusal:
        pol.load(data)
    assert reason in refusal.value.detail


def test_two_rules_of_one_name_and_bytes_that_are_no_policy_are_refused():
    with pytest.raises(pol.BadPolicy, match="two rules"):
        pol.load(msgspec.json.encode({"name": "p", "version": 1, "rules": [GOOD, GOOD]}))
    with pytest.raises(pol.BadPolicy):
        pol.load(b"not json")
