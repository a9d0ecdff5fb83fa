"""A request as a model is given it, in no provider's form: its messages, its exact bytes, and the tokens they take."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from agentstate.engine.memory.tokens import Counter

Role = Literal["customer", "agent", "staff", "tool", "note", "summary"]
FRAMING = 6  # tokens that any message takes beside its words
CALL_FRAMING = 8
_sorted = msgspec.json.Encoder(decimal_format="number", order="sorted")


class ProposedCall(msgspec.Struct, frozen=True):
    """The model asks to act. `output_path` says where in the scratchpad the result goes, `None` for nowhere."""

    id: str
    tool: str
    arguments: dict[str, Any]
    output_path: str | None = None


class ContextMessage(msgspec.Struct, frozen=True, dict=True):
    """One message of the bounded context. A `tool` message answers `call_id`; a `note` the customer never sees; a
    `summary` stands for older messages. Its tokens are counted once and its bytes made once, and both are kept with it,
    outside its fields.
    """

    role: Role
    text: str
    name: str = ""
    call_id: str = ""
    calls: tuple[ProposedCall, ...] = ()


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model sees it; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything a model is given for one answer; `state` is the scratchpad, `parameters` what the customer's profile
    asks of the model (`max_output_tokens`). Without any, the bytes are those of requests from before there were.
    """

    model: str
    instructions: str
    messages: tuple[ContextMessage, ...]
    tools: tuple[ToolSpec, ...]
    state: dict[str, Any]
    parameters: dict[str, int] = {}


class _Rendered(msgspec.Struct, omit_defaults=True):
    """A ModelRequest whose messages are bytes already."""

    model: str
    instructions: str
    messages: list[msgspec.Raw]
    tools: tuple[ToolSpec, ...]
    state: dict[str, Any]
    parameters: dict[str, int] = {}


def request_bytes(request: ModelRequest) -> bytes:
    """The exact bytes of a request: JSON with sorted keys, in a list of one."""
    told = [message.__dict__.get("bytes") or _rendered(message) for message in request.messages]
    return _sorted.encode(
        (_Rendered(request.model, request.instructions, told, request.tools, request.state, request.parameters),)
    )


def _rendered(message: ContextMessage) -> msgspec.Raw:
    made = message.__dict__["bytes"] = msgspec.Raw(_sorted.encode(message))
    return made


def request_digest(request: ModelRequest) -> str:
    """SHA-256, in hex, over `request_bytes`, as `model.requested` and `summary.requested` record it."""
    return hashlib.sha256(request_bytes(request)).hexdigest()


def json_text(value: Any) -> str:
    """A value as JSON with sorted keys: equal values are equal texts."""
    return _sorted.encode(value).decode()


def tokens_of(messages: Iterable[ContextMessage], counter: Counter) -> int:
    """Tokens of messages, their framing included."""
    total = 0
    for message in messages:
        kept: tuple[Counter, int] | None = message.__dict__.get("tokens")
        if kept is None or kept[0] is not counter:
            kept = message.__dict__["tokens"] = (counter, _counted(message, counter))
        total += kept[1]
    return total


def _counted(message: ContextMessage, counter: Counter) -> int:
    words = f"{message.text}{message.name}{message.call_id}"
    if not message.calls:
        return FRAMING + counter.count(words)
    calls = "".join(f"{call.id}{call.tool}{json_text(call.arguments)}" for call in message.calls)
    return FRAMING + CALL_FRAMING * len(message.calls) + counter.count(words + calls)
