"""Which model an agent asks: the endpoint that the settings name, else the agent's own script."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from agentstate.errors import Broken
from sessions.agents.chat_completions import ChatCompletions
from sessions.agents.model import Model
from sessions.agents.providers import Endpoint, endpoint
from sessions.agents.registry import Agent, find


class NoModel(Broken):
    """This agent has no model: set AGENT_MODEL, or give it a script."""

    code = "no_model"


def configured() -> Endpoint | None:
    """The endpoint that the settings name, or None. Raises ModelMisconfigured: at start, not at the first call."""
    names = ("AGENT_MODEL", "AGENT_BASE_URL", "AGENT_API_KEY")
    return endpoint({name: getattr(settings, name) for name in names})


def model_for(agent: Agent) -> Model:
    """The model to ask. Raises NoModel; ModelMisconfigured when the settings are unusable."""
    return _model_for(agent.name)


@lru_cache
def _model_for(name: str) -> Model:
    agent = find(name)
    at = configured()
    if at is not None:
        return ChatCompletions(at, agent.output_paths)
    if agent.script is None:
        raise NoModel(name)
    return agent.script
