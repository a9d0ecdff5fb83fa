"""What the agent loop asks of a language model, and what it gets back.

An adapter implements `Model`. The loop knows nothing of providers, the adapters nothing of sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from agentstate.engine.looping.settings import ANSWER
from agentstate.engine.memory.shown import ContextMessage, ModelRequest, ProposedCall, Role, ToolSpec

__all__ = [
    "ANSWER",
    "ContextMessage",
    "Model",
    "ModelAnswer",
    "ModelFailed",
    "ModelRequest",
    "ProposedCall",
    "Role",
    "ToolSpec",
    "Usage",
]


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0


class ModelAnswer(msgspec.Struct, frozen=True):
    """Text for the customer, calls to make, or both."""

    text: str
    calls: tuple[ProposedCall, ...] = ()
    usage: Usage = Usage()
    finish: str = "stop"
    model: str = ""


class ModelFailed(Exception):
    """The model gave no usable answer. `transient` says whether asking again later may help.

    The text is stored and shown, so an adapter keeps keys and headers out of it.
    """

    def __init__(self, message: str, *, transient: bool) -> None:
        super().__init__(message)
        self.transient = transient


class Model(Protocol):
    """An adapter. `on_text` receives partial text while it arrives; partial text is never an entry."""

    name: str

    def answer(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelAnswer:
        """One answer. Raises ModelFailed."""
        ...
