"""Which model an agent asks: the endpoint that the settings name, else the agent's own script."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from agentstate.engine.model import Model
from agentstate.errors import Broken
from sessions.agents.chat_completions import ChatCompletions
from sessions.agents.providers import endpoint
from sessions.agents.registry import Agent


class NoModel(Broken):
    """This agent has no model: set AGENT_MODEL, or give it a script."""

    code = "no_model"


def configured() -> ChatCompletions | None:
    """The model at the endpoint that the settings name; None where they name none.

    Raises ModelMisconfigured: at start, not at the first call.
    """
    return _model_at(settings.AGENT_MODEL, settings.AGENT_BASE_URL, settings.AGENT_API_KEY)


def model_for(agent: Agent) -> Model:
    """The model to ask. Raises NoModel; ModelMisconfigured when the settings are unusable."""
    model = configured() or agent.script
    if model is None:
        raise NoModel(agent.name)
    return model


@lru_cache(maxsize=1)
def _model_at(model: str, base_url: str, key: str) -> ChatCompletions | None:
    at = endpoint({"AGENT_MODEL": model, "AGENT_BASE_URL": base_url, "AGENT_API_KEY": key})
    return ChatCompletions(at) if at is not None else None
