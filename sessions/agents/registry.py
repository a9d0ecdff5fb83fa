"""The agents of this installation: instructions, tools, policy and model of each, by name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import msgspec

from agentstate.engine import policy as pol
from agentstate.engine.decide import Given, ToolFacts
from agentstate.engine.memory.remembering import Remembering
from agentstate.errors import Invalid
from agentstate.ids import new_id
from sessions.agents import counters
from sessions.agents.model import Model, ToolSpec
from sessions.tools import registry as tools

POLICIES = Path(__file__).resolve().parent.parent / "policies"


class Agent(msgspec.Struct, frozen=True):
    """One agent. `tools` names registered tools; `output_paths` says where a tool's result goes in the scratchpad;
    `memory` how long its requests may be and what is kept of a conversation.
    """

    name: str
    instructions: str
    tools: tuple[str, ...]
    policy: str
    output_paths: dict[str, str]
    memory: Remembering = Remembering()
    script: Model | None = None  # the model to ask when the settings name none


class UnknownAgent(Invalid):
    """There is no such agent."""

    code = "unknown_agent"


_registry: dict[str, Agent] = {}


def register(agent: Agent) -> None:
    """Add `agent`; every tool that it names must be registered. A name is taken once."""
    if agent.name in _registry:
        raise ValueError(f"an agent called {agent.name!r} is registered already")
    missing = [name for name in agent.tools if tools.find(name) is None]
    if missing:
        raise ValueError(f"agent {agent.name!r} names tools that are not registered: {missing}")
    policy_named(agent.policy)
    counters.named(agent.memory.counter)
    _registry[agent.name] = agent


def find(name: str) -> Agent:
    """The agent of that name. Raises UnknownAgent."""
    try:
        return _registry[name]
    except KeyError:
        raise UnknownAgent(f"got {name!r}, want one of {sorted(_registry)}", field="agent") from None


def names() -> list[str]:
    """Every registered name, sorted."""
    return sorted(_registry)


@lru_cache
def policy_named(name: str) -> pol.Policy:
    """The policy `sessions/policies/<name>.json`."""
    return pol.load((POLICIES / f"{name}.json").read_bytes())


@lru_cache
def facts_for(agent: str) -> Mapping[str, ToolFacts]:
    """What rules need to know of the agent's tools."""
    return {name: _facts(name) for name in find(agent).tools}


def _facts(name: str) -> ToolFacts:
    tool = tools.find(name)
    assert tool is not None
    return ToolFacts(
        name=tool.name,
        version=tool.version,
        effect=tool.effect,
        attempts=tool.retry.attempts,
        base_seconds=tool.retry.base_seconds,
        check=tool.check,
        preview=tool.preview,
    )


def given_for(agent: str, at: datetime) -> Given:
    """What `decide` is handed for a session of that agent at that instant. Raises UnknownAgent."""
    found = find(agent)
    counter = counters.named(found.memory.counter)
    return Given(at, lambda: str(new_id()), facts_for(agent), policy_named(found.policy), found.memory, counter)


def tool_specs(agent: Agent) -> tuple[ToolSpec, ...]:
    """The agent's tools as its model sees them."""
    found = [tools.find(name) for name in agent.tools]
    return tuple(ToolSpec(tool.name, tool.description, tool.arguments) for tool in found if tool is not None)
