"""What a dry run says of a call: every field of the terms that asks for more or less of people counts."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agentstate.engine.policy import Escalation, Verdict
from agentstate.engine.versions.judged_again import JudgedAgain, Said

ASKED = Verdict("approve", 2, "r", "p@1", "w", reviewers=(("role:supervisor",),), reasons=("a", "b"), hold=30)
DELAYED = Verdict("hold", 1, "r", "p@1", "w", hold=30)
ALLOWED = Verdict("allow", 1, "r", "p@1", "w")


def move(before: Verdict, after: Verdict | None) -> str:
    was = Said(before.gate, before.tier, before.rule, before.policy, before.quorum, before.terms)
    return JudgedAgain(1, "", "c", "t", was, after).move


@pytest.mark.parametrize(
    ("base", "more"),
    [
        (ASKED, {"tier": 3}),
        (ASKED, {"quorum": 2}),
        (ASKED, {"four_eyes": True}),
        (ASKED, {"hold": 60}),
        (ASKED, {"reviewers": (("role:supervisor",), ("team:retail",))}),
        (ASKED, {"reasons": ("a",)}),
        (ASKED, {"retype": ("arguments.amount",)}),
        (DELAYED, {"hold": 60}),
        (DELAYED, {"gate": "approve"}),
        (DELAYED, {"tier": 2}),
        (ALLOWED, {"tier": 2}),
    ],
)
def test_what_asks_for_more_is_stricter_and_the_other_way_laxer(base: Verdict, more: dict[str, Any]) -> None:
    other = replace(base, **more)
    assert (move(base, other), move(other, base), move(base, base)) == ("stricter", "laxer", "same")


@pytest.mark.parametrize("asking", [ASKED, DELAYED])
def test_whether_anybody_is_asked_at_all_is_told_apart(asking: Verdict) -> None:
    assert (move(ALLOWED, asking), move(asking, ALLOWED)) == ("stopped", "let through")


def test_other_people_later_are_stricter_whichever_way_it_changes() -> None:
    other = replace(ASKED, chain=(Escalation(60, (("user:maya",),)),))
    assert (move(ASKED, other), move(other, ASKED)) == ("stricter", "stricter")


def test_what_only_offers_or_explains_otherwise_is_the_same_and_a_tool_that_is_gone_unknown() -> None:
    assert move(ASKED, replace(ASKED, rule="other", why="other", expires_in=5)) == "same"
    assert move(ASKED, None) == "unknown"
