"""The policies that are shipped: each says what its cases want, each rule decides one, and no version ever changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import pytest

from agentstate.engine.policy import evaluate, open_rules
from agentstate.engine.policy.cases import Result, arguments_of, findings, run
from sessions.library import folders, policies
from tests.claims import ROOT
from tests.conftest import BANK_LIBRARY
from tests.searching import FULL

NAMES = sorted(  # of the product and of the demo; other tests add folders of their own
    {each.name for each in folders.files("policies").values() if each.origin in (folders.ORIGIN, str(BANK_LIBRARY))}
)
SHIPPED = [f"{name}@{version}" for name in NAMES for version in policies.versions(name)]
CASES = [
    (reference, number, case.name)
    for reference in SHIPPED
    for number, case in enumerate(policies.cases_of(reference).cases)
]
STEP = 1 if FULL else 17  # of the values, one is taken out in each run of this many
MANY = 8  # entries of an object: with more it is a list of records by their names
RELEASED = json.loads((ROOT / "tests/vectors/policies.json").read_text())


@cache
def results(reference: str) -> tuple[Result, ...]:
    return run(policies.named(reference), policies.cases_of(reference))


@pytest.mark.parametrize(
    ("reference", "number"),
    [case[:2] for case in CASES],
    ids=[f"{reference} {name}" for reference, _, name in CASES],
)
def test_a_policy_says_what_its_case_wants(reference: str, number: int) -> None:
    assert not results(reference)[number].fault


@pytest.mark.parametrize("reference", SHIPPED)
def test_every_rule_of_a_policy_decides_a_case(reference: str) -> None:
    assert findings(policies.named(reference), policies.cases_of(reference)) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_missing_value_turns_a_rule_off_in_the_newest_version(name: str) -> None:
    assert open_rules(policies.named(name)) == []
    policies.must_hold(name)


@pytest.mark.parametrize("reference", ["airline@1", "bank@1", "bank@2", "retail@1"])
def test_a_superseded_version_that_fails_open_can_be_read_and_never_put_in_force(reference: str) -> None:
    assert policies.named(reference).reference == reference
    with pytest.raises(policies.BadFile, match="turns the rule off"):
        policies.must_hold(reference)


def test_a_released_version_is_never_changed() -> None:
    """A new version is a new file, and a line in tests/vectors/policies.json."""
    here = {
        reference: hashlib.sha256(folders.files("policies")[f"{reference.replace('@', '/')}.json"].data).hexdigest()
        for reference in SHIPPED
    }
    assert here == RELEASED


def test_the_newest_version_is_in_force_unless_one_is_named() -> None:
    assert policies.named("bank").version == max(policies.versions("bank"))
    assert policies.named("bank@1").reference == "bank@1"


@pytest.mark.parametrize("name", NAMES)
def test_a_call_that_is_asked_about_is_asked_about_with_any_value_missing(name: str) -> None:
    """Each case of the newest version, with values of its objects taken out, one at a time; with FULL each of them."""
    policy, cases = policies.named(name), policies.cases_of(name)
    asked = [result.case for result in run(policy, cases) if result.said.gate != "allow"]
    tried = 0
    for case in asked:
        values = {**cases.given, **case.given, "arguments": arguments_of(case)}
        concerned = only_named(values, json.dumps(case.arguments, default=str))
        assert evaluate(policy, case.tool, case.effect, concerned).gate != "allow"
        for left in islice(without_one(concerned), tried % STEP, None, STEP):
            tried += 1
            assert evaluate(policy, case.tool, case.effect, left).gate != "allow", (case.name, left)
    assert tried > (20 if cases.given else 5)  # words are judged by themselves


def only_named(values: dict[str, Any], named: str) -> dict[str, Any]:
    """The values, of many records only those that the call names."""
    return {
        key: only_named(value, named) if isinstance(value, dict) else value
        for key, value in values.items()
        if len(values) <= MANY or key in named
    }


def without_one(values: Any) -> Iterator[Any]:
    """The values, without one entry of an object in them, for each entry."""
    if isinstance(values, dict):
        for key, value in values.items():
            rest = {name: each for name, each in values.items() if name != key}
            yield rest
            yield from ({**rest, key: less} for less in without_one(value))
    elif isinstance(values, list):
        for at, value in enumerate(values):
            yield from ([*values[:at], less, *values[at + 1 :]] for less in without_one(value))
