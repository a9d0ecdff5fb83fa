"""Events of calls: allowed, refused, run, their results, interventions of people, and calls that undo others."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentstate.engine.events.base import Arguments, Event

# Why an allowed call ended before it began: the session ended or was cancelled, went on as a fork or was rolled back,
# the call's data subject was erased, another plan took the place of its own, or somebody asked for the withdrawal.
WithdrawalCode = Literal["ended", "cancelled", "superseded", "rolled_back", "erased", "replaced", "requested"]


class CallAllowed(Event, frozen=True, tag="call.allowed"):
    """Policy lets the call go on without a person. `rule` is the one that matched."""

    call: str
    tier: int
    rule: str
    policy: str
    adapted: tuple[str, ...] = ()  # mappings of the customer's profile that made policy stricter here
    v: int = 1


TOO_MANY_REFUSALS = "too_many_refusals"  # code of a refusal: people rejected too many calls for it to be asked about


class CallRefused(Event, frozen=True, tag="call.refused"):
    """The call was refused before any policy or person was asked: unknown tool, broken schema, refused before."""

    call: str
    code: str
    reason: str
    v: int = 1


class CallWithdrawn(Event, frozen=True, tag="call.withdrawn"):
    """An allowed call ended before it began. `request` names the approval it rested on, `approved_by` who gave it;
    both are empty where policy alone had allowed it. `by` is empty where nobody asked for the withdrawal itself.
    """

    call: str
    code: WithdrawalCode
    because: str
    by: str = ""
    request: str = ""
    approved_by: tuple[str, ...] = ()
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
    adapted: tuple[str, ...] = ()
    activity: str = ""  # the function that executes it, when not the tool's own
    retry_until: str = ""  # the end of the tool's total time, which begins with the first try; empty: none is declared
    # Minor units by currency, as its tool declares its amounts; None: an entry from before, counted by its arguments.
    moved: dict[str, int] | None = None
    v: int = 1


class Answered(msgspec.Struct, frozen=True):
    """How the model gave a result: which one, the digest of the exact request, the tokens, and whether it was sent back
    once because its first answer broke the schema.
    """

    model: str
    digest: str
    input_tokens: int = 0
    output_tokens: int = 0
    repaired: bool = False
    micros: int = 0  # what it cost, in millionths of the prices' currency


class ToolReturned(Event, frozen=True, tag="tool.returned"):
    """The tool did it. The result is written to `output_path` of the scratchpad, if there is one."""

    call: str
    attempt: int
    result: Any
    output_path: str | None = None
    outcome: int = 0  # which of the alternatives of its output path
    answered: Answered | None = None  # where the model gave the result, and no function
    authors: tuple[str, ...] = ()  # the people who wrote what it is made of, where another session gave it
    v: int = 1


class ToolFailed(Event, frozen=True, tag="tool.failed"):
    """The tool failed. `retry_at`: when the same call is tried again; empty: the call has failed for good.
    `retry_until`: when the tool's total time for tries ends, where it declares one. A call that is still to be tried
    again when that time ends fails once more, for its last attempt.
    """

    call: str
    attempt: int
    reason: str
    transient: bool
    retry_at: str = ""
    code: str = ""  # why the result was not taken, where the tool itself did run
    result: Any = None  # what it gave then: nothing of the session rests on it
    retry_until: str = ""
    unwritten: str = ""  # why the error is not written where a plan says
    v: int = 1


Intervention = Literal["retry", "skip", "supply", "happened", "not_happened"]


class CallDoubted(Event, frozen=True, tag="call.doubted"):
    """The call began, its result is lost, and it may not be repeated: a person has to find out whether it happened."""

    call: str
    attempt: int
    reason: str
    v: int = 1


class CallIntervened(Event, frozen=True, tag="call.intervened"):
    """A person settled a call. `retry` and `not_happened`: it may run again; `skip`: it will not; `supply`: this is its
    result; `happened`: it was done, with this result.
    """

    call: str
    how: Intervention
    by: str
    reason: str
    result: Any = None
    output_path: str | None = None
    unwritten: str = ""  # why the error is not written where a plan says
    v: int = 1


class SessionRetried(Event, frozen=True, tag="session.retried"):
    """A person has a session tried again that could not go on. `why` is what kept it."""

    by: str
    reason: str
    why: str
    v: int = 1


class Undoing(msgspec.Struct, frozen=True):
    """A call that undoes an effect: `effect` is the entry of that effect's intent, `call` its call."""

    id: str
    tool: str
    arguments: Arguments
    effect: int
    call: str


class CompensationOrdered(Event, frozen=True, tag="compensation.ordered"):
    """A person orders that effects be undone, which the rollback in entry `rollback` had left standing: the newest
    first, each by a call that policy judges as any other, and that begins when the one before it has ended.
    """

    rollback: int
    calls: tuple[Undoing, ...]
    by: str
    reason: str
    v: int = 1
