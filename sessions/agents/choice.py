"""Which model an agent asks: the endpoint that the settings name, else the agent's own script."""

from __future__ import annotations

import os
from functools import lru_cache

from agentstate.errors import Broken
from sessions.agents.chat_completions import ChatCompletions
from sessions.agents.model import Model
from sessions.agents.providers import endpoint
from sessions.agents.registry import Agent, find


class NoModel(Broken):
    """This agent has no model: set AGENT_MODEL, or give it a script."""

    code = "no_model"


def model_for(agent: Agent) -> Model:
    """The model to ask. Raises NoModel; ModelMisconfigured when the settings are unusable."""
    return _model_for(agent.name)


@lru_cache
def _model_for(name: str) -> Model:
    agent = find(name)
    at = endpoint(os.environ)
    if at is not None:
        return ChatCompletions(at, agent.output_paths)
    if agent.script is None:
        raise NoModel(name)
    return agent.script
