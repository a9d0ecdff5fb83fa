"""A statechart as data: states in states, transitions between them, what is done on the way. No code, only data.

The words are SCXML's where a plain one would be less clear: a `parallel` state is in all of its children at once, a
`history` state stands for where its parent was last, a `final` one ends its parent. Expressions are CEL (`when`,
`value`, and all that end in `_expr`) over the chart's own data, what it `reads` from outside, and `_event`.

Everything in a chart is hashable and none of it changes: a chart is its own key.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from agentstate.errors import Invalid, Refused

MAX_BYTES = 262_144  # of a chart as JSON or SCXML
MAX_STATES = 500
MAX_TRANSITIONS = 2_000
MAX_ACTIONS = 2_000
MAX_DEPTH = 24  # states in states, and actions in actions
FROM_OUTSIDE = ("state", "history", "session")  # what a chart may read of the session it belongs to

Text = Annotated[str, msgspec.Meta(max_length=4_000)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Identifier = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}\Z")]
StateId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][\w.\-]{0,99}\Z")]
Targets = Annotated[tuple[StateId, ...], msgspec.Meta(max_length=50)]


class BadChart(Invalid):
    """This is not a statechart that can be run."""

    code = "bad_chart"


class ChartOverrun(Refused):
    """The statechart did not come to rest within its bounds."""

    code = "chart_overrun"
    remedy = "Look for transitions without events that follow each other in a circle."


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all that a chart is made of."""


class Datum(Part, frozen=True):
    """One name of the chart's data and the expression of its first value; without one it is null."""

    name: Identifier
    value: Text = ""


class Param(Part, frozen=True):
    """One named value that an event carries."""

    name: Name
    value: Text


class Action(Part, frozen=True, tag_field="act"):
    """The base of what can be done on the way. The tag is the word in the JSON."""


class Assign(Action, frozen=True, tag="assign"):
    """Put a value at a path of the chart's declared data: `amount`, `payee.name`."""

    path: Text
    value: Text


class Raise(Action, frozen=True, tag="raise"):
    """An internal event: it is handled before anything from outside."""

    event: Name


class Send(Action, frozen=True, tag="send"):
    """An event to oneself (or to the parent, or to an invoked chart), now or `after` a time such as `30s`."""

    event: Text = ""
    event_expr: Text = ""
    target: Text = ""
    target_expr: Text = ""
    type: Text = ""
    type_expr: Text = ""
    id: Text = ""
    id_to: Text = ""  # the path at which the id that was made for it is put
    after: Text = ""
    after_expr: Text = ""
    params: tuple[Param, ...] = ()
    content: Text = ""  # an expression: the whole data of the event instead of params


class Cancel(Action, frozen=True, tag="cancel"):
    """Take back what was sent under this id and is not due yet."""

    id: Text = ""
    id_expr: Text = ""


class Log(Action, frozen=True, tag="log"):
    """Note a value among the effects."""

    label: Text = ""
    value: Text = ""


class Branch(Part, frozen=True):
    """What is done when a question is answered with yes; without a question, otherwise."""

    when: Text = ""
    do: tuple[AnyAction, ...] = ()


class Choose(Action, frozen=True, tag="choose"):
    """The first branch whose question is answered with yes."""

    branches: Annotated[tuple[Branch, ...], msgspec.Meta(min_length=1)]


class ForEach(Action, frozen=True, tag="foreach"):
    """The same for each item of a list, which is read once, before."""

    items: Text
    item: Text
    index: Text = ""
    do: tuple[AnyAction, ...] = ()


AnyAction = Assign | Raise | Send | Cancel | Log | Choose | ForEach
Block = tuple[AnyAction, ...]


class Transition(Part, frozen=True):
    """From its state to others: on an event, or without one as soon as `when` holds, or `after` a time in the state.

    `event` holds descriptors apart by spaces: `call.returned` matches `call.returned.transfer` too, `*` everything.
    Without `to` nothing is left or entered; `internal` does not leave its own compound state.
    """

    event: Text = ""
    when: Text = ""
    to: Targets = ()
    after: Text = ""
    internal: bool = False
    do: Block = ()
    about: Text = ""


class Invoke(Part, frozen=True):
    """A chart that runs inside this one while its state is held. It hears `#_<id>` and speaks to `#_parent`."""

    chart: Chart
    id: Text = ""
    id_to: Text = ""
    type: Text = ""
    type_expr: Text = ""
    params: tuple[Param, ...] = ()
    forward: bool = False  # every event from outside goes to it too
    finalize: Block = ()  # done with each event that comes from it, before the event is handled


class State(Part, frozen=True):
    """One state. `initial` is where a compound state begins, and where a history without a past leads."""

    id: StateId
    kind: Literal["state", "parallel", "final", "history"] = "state"
    about: Text = ""
    initial: Targets = ()
    initial_do: Block = ()
    states: tuple[State, ...] = ()
    transitions: tuple[Transition, ...] = ()
    entry: tuple[Block, ...] = ()  # blocks: an error ends its own block only
    exit: tuple[Block, ...] = ()
    deep: bool = False  # of a history: down to the last state, not only to the parent's child
    data: tuple[Datum, ...] = ()
    invoke: tuple[Invoke, ...] = ()
    done_params: tuple[Param, ...] = ()  # what a final state's done event carries
    done_content: Text = ""
    instructions: Text = ""  # what the agent is told while the session stands here
    tools: tuple[Name, ...] | None = None  # the only tools it may call here; None: as the states around it say
    prompt: bool = False  # entering it lets the agent speak, as words of the customer do


class Chart(Part, frozen=True, cache_hash=True):
    """A named, versioned statechart."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_\-]{0,59}\Z")]
    version: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    states: Annotated[tuple[State, ...], msgspec.Meta(min_length=1)]
    about: Text = ""
    title: Text = ""  # what `_name` reads, if not the name
    initial: Targets = ()
    initial_do: Block = ()
    data: tuple[Datum, ...] = ()
    binding: Literal["early", "late"] = "early"
    events: tuple[Name, ...] = ()  # declared: what may come from outside, so that check can ask who handles it
    reads: tuple[Literal["state", "history", "session"], ...] = ()

    @property
    def reference(self) -> str:
        """How entries name this chart: `bank-transfer@3`."""
        return f"{self.name}@{self.version}"
