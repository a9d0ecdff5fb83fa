"""What an agent adds to a request of its own: instructions, tools, and what it hides.

Pure; `sessions.agents.versions` stores it. Configuration, nothing personal: what depends on a session is in its state.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import msgspec

from agentstate.engine.memory.shown import ModelRequest
from agentstate.engine.model_request import Definition
from agentstate.engine.model_request import build as build_from
from agentstate.engine.state.session import SessionState
from sessions.agents.registry import Agent, allowance_of, schemas_for, tool_specs, versions_of

_encoder = msgspec.json.Encoder(order="sorted")


class _Same:
    """An agent as the key of a cache: one that is registered is the same object until it is deployed anew."""

    __slots__ = ("agent",)

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def __hash__(self) -> int:
        return id(self.agent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.agent is self.agent


def build(agent: Agent, model: str, state: SessionState) -> ModelRequest:
    """Returns the request for the next answer of the agent's model."""
    return build_from(definition_of(agent), model, state)


def definition_of(agent: Agent) -> Definition:
    """The definition of `agent` as it is today."""
    return _made(_Same(agent), versions_of(agent))[0]


def form_of(agent: Agent) -> tuple[bytes, str]:
    """The bytes of the agent's definition as it is today, and their digest."""
    return _made(_Same(agent), versions_of(agent))[1:]


@lru_cache(maxsize=64)
def _made(same: _Same, _versions: tuple[tuple[str, int], ...]) -> tuple[Definition, bytes, str]:
    agent = same.agent
    declared = schemas_for(agent.schema)
    forms = {each.reference: each.source.decode() for each in declared.versions.values()} if declared else {}
    specs, room = tool_specs(agent), allowance_of(agent).state
    definition = Definition(
        agent.instructions, specs, agent.memory.private, forms, agent.scopes, data=room // 2, room=room
    )
    data = to_bytes(definition)
    return definition, data, digest_of(data)


def to_bytes(definition: Definition) -> bytes:
    """The bytes of a definition: equal definitions have equal ones. `from_bytes` is the inverse."""
    return _encoder.encode(definition)


def from_bytes(data: bytes) -> Definition:
    """A definition read back. Raises msgspec.ValidationError."""
    return msgspec.json.decode(data, type=Definition)


def digest_of(data: bytes) -> str:
    """SHA-256, in hex: the name under which a definition is stored."""
    return hashlib.sha256(data).hexdigest()
