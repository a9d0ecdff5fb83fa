"""What happens in the agent's run: it starts, the model is asked, answers or fails, and it rests."""

from __future__ import annotations

from itertools import accumulate

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
    first, then how far each lies from the one before. `entries` reads both.
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
