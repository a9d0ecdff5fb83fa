"""The installation of the approval model check: tools, rules, charts and schemas."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from agentstate.engine import decide as core
from agentstate.engine import policy as pol
from agentstate.engine.migrating import Catalogue, catalogue
from agentstate.engine.policy.edits import Editable
from agentstate.engine.schemas import declare
from agentstate.engine.versions.effects import Declared
from agentstate.errors import Invalid
from tests.core.chart_world import chart, go, state
from tests.core.migrating_world import migration

START = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
AMOUNT = "arguments.amount.minor"
SMALL, LARGE, TOP, DAILY = 10_000, 100_000, 400_000, 200_000
OWN, SAVINGS, STRANGER = "own", "savings", "stranger"
DECLARED = {name: Declared("idempotent", lambda arguments, pad: "Do it") for name in ("transfer", "post_letter")}
DECLARED["look"] = Declared("pure", lambda arguments, pad: "Look")
WINDOW = 300  # seconds after the customer spoke in which the chart allows transfers
IDLE = 500  # seconds that a session waits for its customer before it expires
OTHER = "key-of-another"  # of another data subject than the customer


def money(minor: int) -> dict[str, Any]:
    return {"minor": minor, "currency": "USD"}


def _transfer(arguments: object) -> None:
    assert isinstance(arguments, dict)
    amount = arguments.get("amount")
    if not isinstance(amount, dict) or not isinstance(amount.get("minor"), int) or amount["minor"] < 1:
        raise Invalid("an amount has whole cents above 0", field="arguments.amount")
    if arguments.get("to") not in (OWN, SAVINGS, STRANGER):
        raise Invalid("to whom?", field="arguments.to")


def _any(arguments: object) -> None:
    """Takes everything."""


def _said(arguments: dict[str, Any], pad: dict[str, Any]) -> str:
    return f"Do it with {arguments}"


TOOLS = {
    "look": core.ToolFacts("look", 1, "pure", 2, 1.0, _any, _said),
    "transfer": core.ToolFacts("transfer", 1, "idempotent", 2, 1.0, _transfer, _said, amounts=("amount",)),
    "post_letter": core.ToolFacts("post_letter", 1, "once", 2, 1.0, _any, _said),
}
MOVED = "(has(history.today.moved.transfer) ? history.today.moved.transfer.USD : 0)"
TOPS = f"arguments.amount.minor > 250000 || arguments.to == 'stranger' || {MOVED} + arguments.amount.minor > {DAILY}"


def rule(name: str, tool: str, when: str, tier: int, gate: pol.Gate, **terms: Any) -> pol.Rule:
    return pol.Rule(name, (tool,), when, tier, gate, f"Rule {name}.", **terms)


RULES = (
    rule("look", "look", "true", 0, "allow"),
    rule("letter", "post_letter", "true", 2, "approve"),
    rule("plan", "plan", "true", 2, "approve"),
    rule("top", "transfer", TOPS, 3, "approve", retype=(AMOUNT,), evidence=("state.check",)),
    rule(
        "large",
        "transfer",
        f"!({TOPS}) && arguments.amount.minor > {SMALL}",
        2,
        "approve",
        evidence=("state.check",),
        edits=(Editable(AMOUNT, "down"),),
    ),
    rule("small", "transfer", f"!({TOPS}) && arguments.amount.minor <= {SMALL}", 1, "allow"),
)
POLICY = pol.Policy("model", 1, RULES)
WINDOWED = chart(
    state("wait", go("customer.said", "open"), tools=["look"]),
    state("open", {"after": "5m", "to": ["closed"]}, go("customer.said", "open"), tools=["look", "transfer"]),
    state("closed", go("customer.said", "open"), tools=["look"]),
)
FORBIDDING = chart(state("closed", tools=["look"]), version=2)
WRITERS = {"type": "object", "x-writers": ["tool", "staff"]}
SCHEMAS = (
    declare("model", 1, {**WRITERS, "properties": {"check": {"type": "object"}}}),
    declare("model", 2, {**WRITERS, "properties": {"checked": {"type": "object"}}}),
)
RENAMED = {"schema": "model", "before": 1, "steps": [{"op": "rename", "path": "state.check", "to": "checked"}]}
OLDER: Catalogue = catalogue(SCHEMAS[:1])
NEWER: Catalogue = catalogue(SCHEMAS, (migration(RENAMED),))


def asks(tool: str, arguments: Mapping[str, Any], moved: int) -> int:
    """The tier at which the rules above ask a person for a call; 0: they let it through. Read apart from the engine."""
    if tool == "look":
        return 0
    if tool != "transfer":
        return 2
    minor = arguments["amount"]["minor"]
    if minor > 250_000 or arguments["to"] == STRANGER or moved + minor > DAILY:
        return 3
    return 2 if minor > SMALL else 0
