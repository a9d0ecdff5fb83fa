"""The arguments of a call are judged by the same validator as every other value, and patterns match whole values."""

from __future__ import annotations

import msgspec
import pytest

import demo.bank_agent.tools  # noqa: F401  (registers the bank's tools)
from agentstate.engine import schemas
from agentstate.engine.plan.goals import Goal
from agentstate.engine.profile.values import Amount
from agentstate.errors import Invalid
from sessions.tools import registry as tools

TRANSFER = {"from_account": "1000000001", "to_account": "1000000002", "amount": {"minor": 5, "currency": "USD"}}


def refused(arguments: object) -> Invalid:
    tool = tools.find("transfer")
    assert tool is not None
    with pytest.raises(Invalid) as refusal:
        tool.check(arguments)
    return refusal.value


@pytest.mark.parametrize("account", ["1000000002\n", "\n1000000002", "1000000002 ", "\u0661" * 10, "1000000002\u2029"])
def test_a_pattern_matches_the_whole_value(account: str):
    assert refused({**TRANSFER, "to_account": account}).facts["field"] == "arguments.to_account"


@pytest.mark.parametrize(
    ("changed", "field", "rule"),
    [
        ({"to_account": "secret"}, "arguments.to_account", "pattern: want ^[0-9]{10}$"),
        ({"amount": {"minor": "secret", "currency": "USD"}}, "arguments.amount.minor", "type: want integer"),
        ({"new_payee": "secret"}, "arguments.new_payee", "type: want boolean"),
        ({"amount": {"currency": "USD"}}, "arguments.amount.minor", "required"),
        ({"amount": {"minor": 0.5, "currency": "USD"}}, "arguments.amount.minor", "float"),
    ],
)
def test_a_refusal_names_path_and_rule_and_never_the_value(changed: dict[str, object], field: str, rule: str):
    found = refused({**TRANSFER, **changed})
    assert (found.facts["field"], found.code) == (field, "invalid")
    assert found.detail.startswith(rule)
    assert "secret" not in found.detail


def test_a_name_in_a_document_matches_its_pattern_whole():
    with pytest.raises(schemas.BadSchema, match="regex"):
        schemas.load(b'{"name": "bank\\n", "version": 1, "schema": {"type": "object"}}')
    for kind, value in ((Amount, {"is": "amount", "currency": "USD\n"}), (Goal, {"id": "a\n", "title": "A"})):
        with pytest.raises(msgspec.ValidationError, match="regex"):
            msgspec.convert(value, kind)
