"""What an agent adds to a request of its own: instructions, tools, and what it hides.

Pure; `sessions.definitions` stores it. Configuration, nothing personal: what depends on a session is in its state.
"""

from __future__ import annotations

import hashlib

import msgspec

from agentstate.engine.memory.shown import ToolSpec
from sessions.agents.registry import Agent, schemas_for, tool_specs

_encoder = msgspec.json.Encoder(order="sorted")


class Definition(msgspec.Struct, frozen=True):
    """An agent as its requests show it. `forms`: each version of its state's schema, by reference, as JSON."""

    instructions: str
    tools: tuple[ToolSpec, ...]
    private: tuple[str, ...] = ()
    forms: dict[str, str] = {}


def definition_of(agent: Agent) -> Definition:
    """The definition of `agent` as it is today."""
    declared = schemas_for(agent.schema)
    forms = {each.reference: each.source.decode() for each in declared.versions.values()} if declared else {}
    return Definition(agent.instructions, tool_specs(agent), agent.memory.private, forms)


def to_bytes(definition: Definition) -> bytes:
    """The bytes of a definition: equal definitions have equal ones. `from_bytes` is the inverse."""
    return _encoder.encode(definition)


def from_bytes(data: bytes) -> Definition:
    """A definition read back. Raises msgspec.ValidationError."""
    return msgspec.json.decode(data, type=Definition)


def digest_of(data: bytes) -> str:
    """SHA-256, in hex: the name under which a definition is stored."""
    return hashlib.sha256(data).hexdigest()
