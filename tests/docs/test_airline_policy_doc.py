"""docs/airline-policy.md: its tables name the rules and cases that there are, and hold every sentence of the text."""

from __future__ import annotations

import hashlib
import re

import pytest

from agentstate.engine.policy.cases import run
from sessions.library import policies
from tests.claims import ROOT
from tests.shared_data import shared_data

PAGE = (ROOT / "docs" / "airline-policy.md").read_text(encoding="utf-8")
AIRLINE, CASES = policies.named("airline"), policies.cases_of("airline")
SAID = {result.case.name: result.said for result in run(AIRLINE, CASES)}
RULES = {rule.name for rule in AIRLINE.rules}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    _, _, below = PAGE.partition(f"## {heading}\n")
    table = [line for line in below.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


def listed(cell: str) -> list[str]:
    return [] if cell == "none" else cell.split("; ")


EXPRESSED, OTHERS = rows("Sentences that rules express"), rows("Sentences that no rule expresses")


@pytest.mark.parametrize(
    ("what", "rules", "allowed", "asked", "sentences"), EXPRESSED, ids=[row[0] for row in EXPRESSED]
)
def test_a_sentence_has_rules_and_cases_on_both_sides(what, rules, allowed, asked, sentences):
    named = re.findall(r"`([a-z_.]+)`", rules)
    assert named
    assert set(named) <= RULES
    assert {SAID[case].gate for case in listed(allowed)} <= {"allow"}
    assert {SAID[case].gate for case in listed(asked)} == {"approve"}
    deciding = {SAID[case].rule for case in (*listed(allowed), *listed(asked))}
    assert [rule for rule in named if rule not in deciding and not rule.endswith(".any")] == []
    assert listed(allowed) or all(rule.startswith(("certificate.", "identity.")) for rule in named)


def test_every_rule_and_every_case_is_in_the_table():
    assert len(EXPRESSED) > 40
    told = {rule for row in EXPRESSED for rule in re.findall(r"`([a-z_.]+)`", row[1])}
    assert told == RULES - {"transfer.to_people"}
    cases = {case for row in EXPRESSED for cell in row[2:4] for case in listed(cell)}
    assert set(SAID) - cases == {"a transfer to a person", "an amount with a fraction is not read"}


def test_what_no_rule_expresses_has_a_reason():
    assert len(OTHERS) > 15
    assert [row for row in OTHERS if len(row) != 3 or len(row[1].split()) < 4] == []


def test_every_sentence_of_the_text_is_in_one_of_the_tables():
    text = shared_data("tau2", "airline", "policy.md").read_text(encoding="utf-8")
    found = {hashlib.sha256(sentence.encode()).hexdigest()[:8] for sentence in sentences(text)}
    told = {digest for row in (*EXPRESSED, *OTHERS) for digest in row[-1].strip("`").split()}
    assert (found - told, told - found) == (set(), set())


def sentences(text: str) -> list[str]:
    """The sentences and the items of lists; no headings."""
    lines = [line.strip().removeprefix("- ") for line in text.splitlines() if not line.startswith("#")]
    found = [part for line in lines for part in re.split(r"(?<=[.!])\s+(?=[A-Z])", line.strip())]
    return [part for part in found if part and not part.endswith(":")]
