"""What the agent loop asks of a language model, and what it gets back.

An adapter implements `Model`. The loop knows nothing of providers, the adapters nothing of sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

Role = Literal["customer", "agent", "staff", "tool", "note"]


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model sees it; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class ProposedCall(msgspec.Struct, frozen=True):
    """The model asks to act. `output_path` says where in the scratchpad the result goes, `None` for nowhere."""

    id: str
    tool: str
    arguments: dict[str, Any]
    output_path: str | None = None


class ContextMessage(msgspec.Struct, frozen=True):
    """One message of the bounded context. A `tool` message answers `call_id`; a `note` the customer never sees."""

    role: Role
    text: str
    name: str = ""
    call_id: str = ""
    calls: tuple[ProposedCall, ...] = ()


class ModelRequest(msgspec.Struct, frozen=True):
    """Everything a model is given for one answer; `state` is the scratchpad."""

    model: str
    instructions: str
    messages: tuple[ContextMessage, ...]
    tools: tuple[ToolSpec, ...]
    state: dict[str, Any]


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
