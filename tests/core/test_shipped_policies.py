"""The policies that are shipped: each says what its cases want, each rule decides one, and no version ever changes."""

from __future__ import annotations

import hashlib
import json

import pytest

from agentstate.engine.policy.cases import Result, run
from sessions import policies
from tests.claims import ROOT

SHIPPED = [f"{name}@{version}" for name in policies.names() for version in policies.versions(name)]
RESULTS = [
    (reference, result)
    for reference in SHIPPED
    for result in run(policies.named(reference), policies.cases_of(reference))
]
RELEASED = json.loads((ROOT / "tests/vectors/policies.json").read_text())


@pytest.mark.parametrize(("reference", "result"), RESULTS, ids=[f"{name} {each.case.name}" for name, each in RESULTS])
def test_a_policy_says_what_its_case_wants(reference: str, result: Result) -> None:
    assert not result.fault


@pytest.mark.parametrize("reference", SHIPPED)
def test_every_rule_of_a_policy_decides_a_case(reference: str) -> None:
    policies.must_hold(reference)


def test_a_released_version_is_never_changed() -> None:
    """A new version is a new file, and a line in tests/vectors/policies.json."""
    here = {
        reference: hashlib.sha256((policies.FOLDER / f"{reference.replace('@', '/')}.json").read_bytes()).hexdigest()
        for reference in SHIPPED
    }
    assert here == RELEASED


def test_the_newest_version_is_in_force_unless_one_is_named() -> None:
    assert policies.named("bank").version == max(policies.versions("bank"))
    assert policies.named("bank@1").reference == "bank@1"
