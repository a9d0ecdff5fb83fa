"""A tool's own word on the risk of a call raises the tier that policy gives it, and never lowers it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agentstate.engine import policy
from agentstate.engine.decide import verdicts

ALLOWED = policy.Verdict("allow", 1, "small", "bank@1", "Small.")
VALUES = {"arguments": {"amount": 5}, "state": {"limit": 3}}


def judged(risk):
    return verdicts._at_least(ALLOWED, SimpleNamespace(risk=risk), VALUES)


@pytest.mark.parametrize(("tier", "found"), [(0, 1), (1, 1), (2, 2), (3, 3), (99, 3), (-7, 1)])
def test_a_tools_word_raises_the_tier_and_never_lowers_it(tier, found):
    assert judged(lambda *_: tier) == policy.Verdict("allow", found, "small", "bank@1", "Small.")


def test_it_reads_arguments_and_state():
    assert judged(lambda arguments, state: 3 if arguments["amount"] > state["limit"] else 0).tier == 3


@pytest.mark.parametrize("risk", [lambda *_: {}["x"], lambda *_: "high", lambda *_: None])
def test_a_tool_that_cannot_say_leaves_it_to_a_person(risk):
    found = judged(risk)
    assert (found.gate, found.tier, found.why) == ("approve", 3, verdicts.UNKNOWN_RISK)
