"""The vocabulary: everything that can have happened in a session, as typed, versioned records.

An event is stored once, as the bytes `encode` gives, and never rewritten; an old form would be upcast when it is read.
Numbers other than integers keep the exact text in which they arrived (they are `Decimal` in memory).
"""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any, Literal, get_args

import msgspec

Role = Literal["customer", "agent", "staff", "note"]
DecisionKind = Literal["approve", "edit", "reject", "respond"]
Outcome = Literal[
    "approved", "edited", "rejected", "responded", "ignored", "expired", "withdrawn", "superseded", "failed"
]
Arguments = dict[str, Any]


class Event(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """The base of all events. The tag is the kind that the envelope shows; `v` is the version of the form."""


class SessionOpened(Event, frozen=True, tag="session.opened"):
    """Somebody called, or a case was opened. `customer` is the data subject."""

    customer: str
    team: str
    agent: str
    channel: str
    topic: str = ""
    alias: str = ""
    v: int = 1


class MessageAdded(Event, frozen=True, tag="message.added"):
    """Something was said. An agent's message is sent to the customer by being committed."""

    role: Role
    text: str
    by: str = ""
    v: int = 1


class RunStarted(Event, frozen=True, tag="run.started"):
    """The agent set to work: `trigger` says why."""

    run: str
    trigger: str
    v: int = 1


class RunRested(Event, frozen=True, tag="run.rested"):
    """The agent has nothing to do until somebody acts. `waiting_for`: customer, decision, retry, nobody."""

    run: str
    waiting_for: str
    v: int = 1


class ModelRequested(Event, frozen=True, tag="model.requested"):
    """The model was asked. `first` to `last` are the seqs of the messages shown; `digest` is over the exact request."""

    step: str
    model: str
    first: int
    last: int
    tools: tuple[str, ...]
    digest: str
    attempt: int = 1
    v: int = 1


class CallProposed(msgspec.Struct, frozen=True):
    """A call as the model wrote it, inside `ModelAnswered`."""

    id: str
    tool: str
    arguments: Arguments
    output_path: str | None = None


class ModelAnswered(Event, frozen=True, tag="model.answered"):
    """The model's answer: the calls it proposes. What it says is the `message.added` just before, in the same
    commit.
    """

    step: str
    model: str
    calls: tuple[CallProposed, ...] = ()
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    v: int = 1


class ModelFailed(Event, frozen=True, tag="model.failed"):
    """The model gave no usable answer. `retry_at` is empty when it will not be asked again by itself."""

    step: str
    reason: str
    transient: bool
    retry_at: str = ""
    v: int = 1


class CallAllowed(Event, frozen=True, tag="call.allowed"):
    """Policy lets the call go on without a person. `rule` is the one that matched."""

    call: str
    tier: int
    rule: str
    policy: str
    v: int = 1


class CallRefused(Event, frozen=True, tag="call.refused"):
    """The call was refused before any policy or person was asked: unknown tool, broken schema, refused before."""

    call: str
    code: str
    reason: str
    v: int = 1


class Evidence(msgspec.Struct, frozen=True):
    """One value of the scratchpad that the rule, the preview or the reviewer's page reads."""

    path: str
    value: Any


class ApprovalRequested(Event, frozen=True, tag="approval.requested"):
    """A call waits for a person. `digest` binds call, epoch, tool and version, arguments and basis."""

    request: str
    call: str
    tool: str
    tool_version: int
    arguments: Arguments
    preview: str
    tier: int
    rule: str
    policy: str
    why: str
    quorum: int
    allowed: tuple[DecisionKind, ...]
    basis: tuple[Evidence, ...]
    response_schema: dict[str, Any]
    expires_at: str
    digest: str
    supersedes: str = ""
    v: int = 1


class DecisionMade(Event, frozen=True, tag="decision.made"):
    """A person decided a request. `seen` is the digest of what was shown; `digest` of what may now execute."""

    request: str
    decision: DecisionKind
    by: str
    reason: str
    seen: str
    digest: str = ""
    arguments: Arguments | None = None
    response: str = ""
    tier: int = 0
    v: int = 1


class RequestEnded(Event, frozen=True, tag="request.ended"):
    """A request reached its named outcome. `because` says why when no person decided."""

    request: str
    outcome: Outcome
    because: str = ""
    v: int = 1


class ToolIntended(Event, frozen=True, tag="tool.intended"):
    """Committed before the tool is run. `request` names the approval it rests on, `digest` what was approved."""

    call: str
    tool: str
    tool_version: int
    arguments: Arguments
    arguments_digest: str
    effect: str
    key: str
    attempt: int
    tier: int
    rule: str
    policy: str
    request: str = ""
    digest: str = ""
    v: int = 1


class ToolReturned(Event, frozen=True, tag="tool.returned"):
    """The tool did it. The result is written to `output_path` of the scratchpad, if there is one."""

    call: str
    attempt: int
    result: Any
    output_path: str | None = None
    v: int = 1


class ToolFailed(Event, frozen=True, tag="tool.failed"):
    """The tool did not do it. With `retry_at` the same call is tried again then; without, the call has failed."""

    call: str
    attempt: int
    reason: str
    transient: bool
    retry_at: str = ""
    v: int = 1


class SessionEnded(Event, frozen=True, tag="session.ended"):
    """The conversation is over."""

    reason: str
    by: str
    v: int = 1


class SessionFailed(Event, frozen=True, tag="session.failed"):
    """The agent cannot go on by itself, for a named reason; a new message of the customer lets it try again."""

    reason: str
    v: int = 1


AnyEvent = (
    SessionOpened
    | MessageAdded
    | RunStarted
    | RunRested
    | ModelRequested
    | ModelAnswered
    | ModelFailed
    | CallAllowed
    | CallRefused
    | ApprovalRequested
    | DecisionMade
    | RequestEnded
    | ToolIntended
    | ToolReturned
    | ToolFailed
    | SessionEnded
    | SessionFailed
)

KINDS: tuple[str, ...] = tuple(str(member.__struct_config__.tag) for member in get_args(AnyEvent))

_encoder = msgspec.json.Encoder(decimal_format="number")
_sorting_encoder = msgspec.json.Encoder(decimal_format="number", order="sorted")
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent, float_hook=Decimal)


def kind_of(event: Event) -> str:
    """The event's kind, e.g. `tool.intended`."""
    return str(event.__struct_config__.tag)


def encode(event: Event) -> bytes:
    """The bytes that are stored, once."""
    return _encoder.encode(event)


def decode(data: bytes) -> AnyEvent:
    """The inverse of `encode`. Raises msgspec.ValidationError on anything that is not a known event."""
    return _decoder.decode(data)


def digest(*parts: Any) -> str:
    """SHA-256, in hex, over the JSON of `parts` with sorted keys: equal values give equal digests."""
    return hashlib.sha256(_sorting_encoder.encode(parts)).hexdigest()
