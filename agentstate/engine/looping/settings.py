"""How an agent's loop is bounded, as data: limits of a run and of a session, prices, circles, messages meanwhile."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

STEPS = 25  # model requests in one run, unless an agent says otherwise
REPEATS = 3  # times that the same call may come to the same result before the model is told
MOST_REPEATS = 10
SAME_TOOL = 30  # calls of one tool in one run before the model is told, whatever their arguments
REFUSALS = 3  # calls that people reject before the agent rests
MAX_PENDING = 10  # requests of one session that wait for people at once
REPAIRS = 2  # times that an output which breaks its schema is sent back in one run
ANSWER = "answer"  # the tool by which a model gives a result that has a schema: the agent's output, or a task's
Whole = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
Meanwhile = Literal["hear", "enqueue", "interrupt", "reject", "rollback"]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be used; 0: as much as is wanted. `micros` are millionths of a unit of the prices' currency."""

    tokens: Whole = 0
    micros: Whole = 0
    steps: Whole = 0  # model requests
    seconds: Whole = 0
    calls: Whole = 0  # that a model proposes, those of its plans included


class Delegates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many sessions of their own a session and its delegates may open for their calls, in all and at once."""

    opened: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 16
    at_once: Annotated[int, msgspec.Meta(ge=0, le=100)] = 4


class Looping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds of an agent's loop.

    `meanwhile` says what becomes of a message that the customer sends during a run. hear: the next model request shows
    it. enqueue: the run goes on without it, and the next one begins with it. interrupt: what the model is saying is
    dropped, and what has not begun is withdrawn. reject: it is refused, by name. rollback: the session is put back to
    how it stood before the run, and then hears it.
    """

    run: Limits = Limits(steps=STEPS)
    session: Limits = Limits()
    delegates: Delegates = Delegates()
    repeats: Annotated[int, msgspec.Meta(ge=0, le=MOST_REPEATS)] = REPEATS  # 0: circles are not looked for
    same_tool: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = SAME_TOOL  # 0: calls of one tool are not counted
    refusals: Annotated[int, msgspec.Meta(ge=0, le=100)] = REFUSALS  # 0: they are not counted
    pending: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = MAX_PENDING  # 0: any number
    meanwhile: Meanwhile = "hear"
    output: dict[str, Any] | None = None  # schema of what the agent gives at the end, by the tool `answer`


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a million tokens cost, in millionths of a unit of the currency."""

    input: Whole
    output: Whole


MILLION = 1_000_000


def cost(price: Price, input_tokens: int, output_tokens: int) -> int:
    """What a request cost, in millionths, rounded up: parts of a millionth must not add up to something unseen."""
    return -(-(price.input * input_tokens + price.output * output_tokens) // MILLION)
