"""A deployment of the bank's next state schema: contacts are called contacts, and notes remarks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from agentstate.engine.migrating import Catalogue, catalogue, load
from agentstate.engine.schemas import Declared, declare
from sessions.agents import registry
from sessions.library import state_schemas

TO_NEXT: dict[str, Any] = {
    "schema": "bank",
    "before": state_schemas.named("bank").current.version,
    "reversible": True,
    "why": "What customers told us before is called contacts everywhere else.",
    "steps": [
        {"op": "rename", "path": "state.customer.interactions", "to": "contacts"},
        {"op": "rename", "path": "state.notes", "to": "remarks"},
    ],
}


def following(newest: Declared) -> Declared:
    """The next version of the bank's schema."""
    schema = msgspec.json.decode(newest.source)
    customer = schema["properties"]["customer"]["properties"]
    customer["contacts"] = customer.pop("interactions")
    schema["properties"]["remarks"] = schema["properties"].pop("notes")
    return declare("bank", newest.version + 1, schema)


@lru_cache
def deployed() -> Catalogue:
    """The bank's schema with its next version."""
    bank = state_schemas.named("bank")
    versions = (*bank.versions.values(), following(bank.current))
    return catalogue(versions, (*bank.migrations.values(), load(msgspec.json.encode(TO_NEXT))))


def deploy(monkeypatch: Any, found: Catalogue) -> None:
    """From here on every process finds `found`."""
    monkeypatch.setattr(registry, "schemas_for", lambda name: found if name else None)
