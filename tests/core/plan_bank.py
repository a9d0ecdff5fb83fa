"""The bank's tools as plans know them, and the plan of a transfer: what the tests of plans talk about."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from agentstate.engine.plan import model
from agentstate.engine.plan.facts import Facts, ToolCard
from agentstate.engine.references import Path
from tests.core.made import values

MONEY = {
    "type": "object",
    "properties": {"minor": {"type": "integer", "minimum": 1}, "currency": {"type": "string"}},
    "required": ["minor", "currency"],
}
CUSTOMER = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "accounts": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}},
    },
    "required": ["name", "accounts"],
    "additionalProperties": False,
}


def _object(required: dict[str, Any], **more: Any) -> dict[str, Any]:
    properties = {**required, **more}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TEXT = {"type": "string"}
TOOLS = {
    card.name: card
    for card in (
        ToolCard("load_customer", _object({"customer": TEXT}), CUSTOMER, milliseconds=100),
        ToolCard(
            "authorize",
            _object({"customer": TEXT}, amount=MONEY),
            {"type": "object", "properties": {"allowed": {"type": "boolean"}}, "required": ["allowed"]},
            milliseconds=4000,
        ),
        ToolCard(
            "transfer",
            _object({"from_account": TEXT, "to_account": TEXT, "amount": MONEY}),
            {"type": "object", "properties": {"receipt": TEXT}, "required": ["receipt"]},
            milliseconds=300,
            effect="idempotent",
        ),
        ToolCard("tell", _object({}, text=True), TEXT, milliseconds=50),
        ToolCard("ask_colleague", _object({}, about=True), None, activity=False),
        ToolCard(
            "note",
            _object(
                {},
                text=True,
                _outputPath={"const": "state.notes"},
                _activity={"enum": ["keep"]},
                _scopes={"maxItems": 1},
            ),
            activities=frozenset({"keep", "burn"}),
        ),
    )
}
INPUT = {"customer": "C-1001", "amount": {"minor": 430000, "currency": "USD"}, "to": "1000000002"}
FACTS = Facts(
    TOOLS,
    views={"state": {"open": {"since": "today"}}, "vault": {"pin": "1234", "n": 1}, "input": INPUT},
    private=(Path("vault", ("pin",)),),
    instances={"ann": {"state": {"id": "7"}, "input": INPUT}},
    delegates=frozenset({"fraud-check"}),
)
TRANSFER: list[dict[str, Any]] = [
    {"_tool": "load_customer", "customer": "†input.customer", "_outputPath": "†state.customer"},
    {
        "_tool": "authorize",
        "customer": "†input.customer",
        "amount": "†input.amount",
        "_outputPath": "†state.authorization",
    },
    {
        "_tool": "transfer",
        "from_account": "†state.customer.accounts.0.id",
        "to_account": "†input.to",
        "amount": "†input.amount",
        "_when": "state.authorization.allowed",
        "_outputPath": "†state.receipt || †state.trouble",
    },
    {"_tool": "tell", "text": "†state.receipt || †state.trouble"},
]

# Calls as nobody should write them, though some can be read.
texts = st.sampled_from(
    [
        "†state.x",
        "†state.x || †input.to",
        "†",
        "††",
        "state.x",
        "†state.y && state.x",
        "true",
        "state.x == 1",
        "ann",
        "tell",
    ]
)
junk = st.fixed_dictionaries(
    {"_tool": texts | st.sampled_from(list(TOOLS))},
    optional=dict.fromkeys(("_id", *model.META[2:], "text", "customer", "amount", "_odd"), texts | values),
)
