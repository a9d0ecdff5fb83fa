"""What the outside hands to `decide`: time, fresh ids, tools and the policy in force. Rules read nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any

import msgspec

from agentstate.engine.charts.chart import Chart
from agentstate.engine.charts.standing import Standing
from agentstate.engine.decide.approvers import Approver
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.halting import Halt
from agentstate.engine.looping.held import Loop
from agentstate.engine.looping.settings import Looping, Price
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.tokens import ESTIMATE, Counter
from agentstate.engine.migrating.catalogue import Catalogue
from agentstate.engine.migrating.pruning import Reads
from agentstate.engine.policy import Policy
from agentstate.engine.policy.granted import Grant
from agentstate.engine.remembered import Remembered
from agentstate.engine.schemas import Declared
from agentstate.engine.schemas.compiled import encode
from agentstate.engine.understanding.ontology import Ontology
from agentstate.engine.wanted import PHRASES


class ToolFacts(msgspec.Struct, frozen=True, dict=True):
    """What rules need to know of a tool. `check` raises Invalid; `preview` says in plain words what will happen."""

    name: str
    version: int
    effect: str
    attempts: int
    base_seconds: float
    check: Callable[[object], None]
    preview: Callable[[dict[str, Any], dict[str, Any]], str]
    schema: Any = True  # of its arguments, meta-properties included
    result: Any = None  # schema of its result; None: not declared
    milliseconds: int = 0  # how long it usually takes, as declared
    activities: frozenset[str] = frozenset()  # functions beside its own that may execute a call of it
    answered: bool = False  # it has no function of its own: the model answers a call that names no activity
    compensation: str = ""  # what can be done about its effect afterwards: a tool's name, or words
    risk: Callable[[dict[str, Any], dict[str, Any]], int] | None = None  # the tier at least
    amounts: tuple[str, ...] | None = None  # paths of arguments that hold the money it moves; None: not declared
    retry_seconds: float = 0.0  # from its first try on a call is tried again for so long; 0: by attempts alone

    @cached_property
    def form(self) -> Declared | None:
        """The schema of the arguments, by which every verdict judges them; None where there is none."""
        return Declared("arguments", 1, encode(self.schema)) if isinstance(self.schema, dict) else None


class Giver(msgspec.Struct, frozen=True):
    """The person who gave a standing approval, as of now: the authority on which they may decide, and the actors who
    share a right with them.
    """

    authorities: tuple[Authority, ...]
    sharing: frozenset[str] = frozenset()


class Family(msgspec.Struct, frozen=True):
    """What binds a delegate of the sessions above it, as they are now. `pad`: their scratchpads as one, the nearest
    first. `remembered`: refusals and the sums of the day, of all delegates together. Of a parent that is of another
    data subject only its chart and the budget bind.
    """

    charts: tuple[Standing, ...] = ()
    pad: dict[str, Any] = {}
    remembered: Remembered = Remembered()
    loop: Loop = Loop()  # of the session above all others


class CommandContext(msgspec.Struct, frozen=True):
    """What the outside hands to `decide`: the time, fresh ids, the tools and the policy in force."""

    at: datetime
    new_id: Callable[[], str]
    tools: Mapping[str, ToolFacts]
    policy: Policy
    memory: Remembering = Remembering()
    counter: Counter = ESTIMATE
    chart: Chart | None = None  # the one that a session without a chart begins with
    charts: Mapping[str, Chart] = {}  # by reference, older versions too: a session stays with its own
    schemas: Catalogue | None = None  # the versions of the state's schema
    reads: Reads = Reads()  # what rules, expressions and tools read of the state
    output_paths: Mapping[str, str] = {}  # tool -> the place of its result, which no other call writes
    ontology: Ontology | None = None  # what the agent's talk is about: entities, topics, where results hold them
    idle: int = 0  # seconds that a session may wait for its customer before it expires; 0: for ever
    halt: Halt = Halt()  # what a person has stopped, as far as is known here
    person: tuple[str, ...] = PHRASES  # in a customer's words, they ask for a person
    loop: Looping = Looping()  # what bounds the agent's loop
    prices: Mapping[str, Price] = {}  # of models, by the name under which they are asked
    offers: frozenset[str] = frozenset()  # what the model may use beside its tools, by the names in `decide/offers`
    follow: bool = False  # whether plans of the model are to be followed exactly
    saved: frozenset[str] = frozenset()  # of the plans that a command names as delegates, those that the team keeps
    grants: Mapping[str, Grant] = {}  # that hold in other sessions too, as they stand now; their uses counted there
    givers: Mapping[str, Giver] | None = None  # of these and of the session's own, by actor; None: not looked up
    approvers: Callable[[], Sequence[Approver]] | None = (
        None  # the people who may decide in the team; None: not counted
    )
    zone: tzinfo = UTC  # by whose clock rules read `time`
    family: Family | None = None  # of a delegate; None: the session is no delegate
