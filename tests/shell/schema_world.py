"""A deployment of the bank's second state schema: contacts are called contacts, and a call has a channel."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from agentstate.engine.migrating import Catalogue, catalogue, load
from agentstate.engine.schemas import Declared, declare
from sessions import state_schemas
from sessions.agents import registry

ONE_TO_TWO: dict[str, Any] = {
    "schema": "bank",
    "before": 1,
    "reversible": True,
    "why": "What customers told us before is called contacts everywhere else.",
    "steps": [
        {"op": "rename", "path": "state.customer.interactions", "to": "contacts"},
        {"op": "rename", "path": "state.notes", "to": "remarks"},
    ],
}


def second(first: Declared) -> Declared:
    """The next version of the bank's schema."""
    schema = msgspec.json.decode(first.source)
    customer = schema["properties"]["customer"]["properties"]
    customer["contacts"] = customer.pop("interactions")
    schema["properties"]["remarks"] = schema["properties"].pop("notes")
    return declare("bank", first.version + 1, schema)


@lru_cache
def two() -> Catalogue:
    """The bank's schema with its second version."""
    first = state_schemas.named("bank").versions[1]
    return catalogue((first, second(first)), (load(msgspec.json.encode(ONE_TO_TWO)),))


def deploy(monkeypatch: Any, found: Catalogue) -> None:
    """From here on every process finds `found`."""
    monkeypatch.setattr(registry, "schemas_for", lambda name: found if name else None)
