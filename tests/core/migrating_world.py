"""Three versions of what the bank keeps of a caller, and the migrations between them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from agentstate.engine.migrating import Catalogue, Migration, catalogue, load
from agentstate.engine.schemas import Declared, declare

MONEY = {"x-money": True}


def text(most: int = 40) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def state(version: int, **properties: Any) -> Declared:
    return declare("bank", version, {**an_object(**properties), "x-writers": ["agent", "tool", "staff"]})


def accounts(ending: str) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {**an_object(id=text(10), balance=MONEY, **{ending: text(4)}), "required": ["id"]},
    }


V1 = state(
    1,
    customer=an_object(name=text(), phone=text(), fax=text(), accounts=accounts("last4")),
    limit={"type": "integer", "minimum": 0, "maximum": 10**12},
    authorization=an_object(allowed={"type": "boolean"}, reason=text()),
)
V2 = state(
    2,
    customer=an_object(name=text(), accounts=accounts("ending")),
    contact=an_object(phone=text(), fax=text()),
    limit={"type": "integer", "minimum": 0, "maximum": 10**12},
    check=an_object(allowed={"type": "boolean"}, reason=text()),
)
V3 = state(
    3,
    customer=an_object(given=text(), family=text(), accounts=accounts("ending")),
    contact=an_object(phone=text(), channel={"enum": ["phone", "chat"]}),
    limit=MONEY,
    check=an_object(allowed={"type": "boolean"}, reason=text()),
)
ONE_TO_TWO: dict[str, Any] = {
    "schema": "bank",
    "before": 1,
    "reversible": True,
    "steps": [
        {"op": "rename", "path": "state.authorization", "to": "check"},
        {"op": "rename", "path": "state.customer.accounts.*.last4", "to": "ending"},
        {"op": "move", "path": "state.customer.phone", "to": "state.contact.phone"},
        {"op": "move", "path": "state.customer.fax", "to": "state.contact.fax"},
    ],
}
TWO_TO_THREE: dict[str, Any] = {
    "schema": "bank",
    "before": 2,
    "steps": [
        {"op": "split", "path": "state.customer.name", "by": " ", "to": ["given", "family"]},
        {"op": "default", "path": "state.contact.channel", "value": "phone"},
        {"op": "drop", "path": "state.contact.fax"},
        {"op": "function", "path": "state.limit", "name": "bank.dollars", "inverse_name": "bank.cents"},
    ],
}


def dollars(limit: int) -> dict[str, Any]:
    return {"minor": limit, "currency": "USD"}


def cents(limit: dict[str, Any]) -> int:
    return limit["minor"]


FUNCTIONS = {"bank.dollars": dollars, "bank.cents": cents}
CALLER = {
    "customer": {
        "name": "Maria Soto",
        "phone": "555 0100",
        "fax": "555 0199",
        "accounts": [{"id": "1", "last4": "2207"}],
    },
    "limit": 250_000,
    "authorization": {"allowed": True},
}


def migration(document: dict[str, Any], **changes: Any) -> Migration:
    return load(msgspec.json.encode({**document, **changes}))


@lru_cache
def bank() -> Catalogue:
    return catalogue((V1, V2, V3), (migration(ONE_TO_TWO), migration(TWO_TO_THREE)), FUNCTIONS)
