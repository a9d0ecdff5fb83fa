"""Events of the agent's run: model requests, answers and failures, its bounds, and messages that wait for it."""

from __future__ import annotations

from itertools import accumulate
from typing import Literal

import msgspec

from agentstate.engine.events.base import Arguments, Event


class RunStarted(Event, frozen=True, tag="run.started"):
    """The agent set to work: `trigger` says why."""

    run: str
    trigger: str
    v: int = 1


class RunRested(Event, frozen=True, tag="run.rested"):
    """The agent has nothing to do until somebody acts.

    `waiting_for`: customer, decision, retry, delegate, resume, nobody.
    """

    run: str
    waiting_for: str
    v: int = 1


class Shown(msgspec.Struct, frozen=True):
    """What a request was made of, so that its bytes can be made again: the form, the definition of the agent (the
    digest under which its instructions and tools are stored), the entries of the items and summaries, and the tokens
    of each part by `counter`, before `factor` (thousandths) corrects them.

    `items` stands in older entries; since then the entries are in `steps`, which stay short in a long session: the
    first, then how far each lies from the one before. `entries` reads both. `entities` is how many known entities the
    request named; unset: none.
    """

    form: str
    definition: str
    counter: str
    budget: int
    factor: int
    instructions: int
    tools: int
    state: int
    messages: int
    summaries: int
    items: tuple[int, ...]
    summarised: tuple[int, ...]
    steps: tuple[int, ...] = ()
    entities: int | msgspec.UnsetType = msgspec.UNSET

    @property
    def entries(self) -> tuple[int, ...]:
        """The entries of the items that were shown."""
        return self.items or tuple(accumulate(self.steps))

    @property
    def tokens(self) -> int:
        """All tokens, before correction."""
        return self.instructions + self.tools + self.state + self.messages + self.summaries


class ModelRequested(Event, frozen=True, tag="model.requested"):
    """The model was asked. `first` to `last` are the seqs of the messages shown; `digest` is over the exact request.

    `shown` is absent in entries from before contexts had a budget.
    """

    step: str
    model: str
    first: int
    last: int
    tools: tuple[str, ...]
    digest: str
    attempt: int = 1
    user: str = ""  # digest of what was known of the customer; empty: nothing
    adapted: tuple[str, ...] = ()  # mappings of the customer's profile that applied
    shown: Shown | None = None
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
    micros: int = 0  # what it cost, in millionths of the prices' currency
    cut: int = 0  # characters at the end of its text that were not said: it was longer than a message may be
    v: int = 1


class ModelFailed(Event, frozen=True, tag="model.failed"):
    """The model gave no usable answer. `retry_at` is empty when it will not be asked again by itself."""

    step: str
    reason: str
    transient: bool
    retry_at: str = ""
    v: int = 1


StopCode = Literal["tokens", "money", "no_price", "steps", "calls", "time", "circle", "output", "refusals"]


class RunStopped(Event, frozen=True, tag="run.stopped"):
    """The run was stopped, by name: `code` says which bound, `of` whose. `used` and `limit` are tokens, millionths
    of the prices' currency, model requests, calls or seconds, as the code says. A person may let it go on.
    """

    run: str
    code: StopCode
    of: Literal["run", "session"]
    used: int
    limit: int
    reason: str
    v: int = 1


class RunGranted(Event, frozen=True, tag="run.granted"):
    """A person granted more, or let a run go on that was stopped with `code` (empty: it was not stopped). `refusals`:
    as many, of the session and its delegates, count no more; 0: all count that counted.
    """

    by: str
    reason: str
    of: Literal["run", "session"]
    code: str = ""
    tokens: int = 0
    micros: int = 0
    steps: int = 0
    seconds: int = 0
    calls: int = 0
    refusals: int = 0
    v: int = 1


class RunInterrupted(Event, frozen=True, tag="run.interrupted"):
    """The customer spoke meanwhile: what the model is saying at `step` (empty: nothing) is dropped, and the calls that
    had not begun are withdrawn.
    """

    run: str
    step: str
    calls: tuple[str, ...]
    v: int = 1


class CircleNoticed(Event, frozen=True, tag="circle.noticed"):
    """The same calls came to the same results `times` times; without `marks`, one tool was called so often, whatever
    its arguments. `note` is what the model is told, once.
    """

    run: str
    tools: tuple[str, ...]
    times: int
    marks: tuple[str, ...]
    note: str
    v: int = 1


class MessageQueued(Event, frozen=True, tag="message.queued"):
    """The customer wrote during a run: the message waits until that is over, and is added then."""

    text: str
    by: str
    run: str
    v: int = 1


class MessageRefused(Event, frozen=True, tag="message.refused"):
    """The customer wrote during a run, and the agent takes nothing then. They were told so."""

    text: str
    by: str
    run: str
    v: int = 1
