"""Events of plans, of the instances that they run over, and of a session's goals.

A plan is recorded in the protocol's notation, each call under its `_id`. Each version is whole, so any two compare.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentstate.engine.events.base import Arguments, Event
from agentstate.engine.looping.held import Used
from agentstate.engine.remembered import Remembered

PlanSource = Literal["model", "person", "saved", "delegate"]


class Member(msgspec.Struct, frozen=True, omit_defaults=True):
    """An instance of a proposed plan. `digest` binds its name, its inputs and its data subject, with a salt from the
    instance's own entry, so that another data subject's inputs cannot be guessed from it. Name and inputs are here only
    for the first instances of the session's own customer.
    """

    digest: str
    name: str = ""
    inputs: dict[str, Any] = {}


class PlanProposed(Event, frozen=True, tag="plan.proposed"):
    """A plan that waits for a person as a whole. `round` is also the id of the call that the person decides. Its
    approval binds the versions of its `tools` and the inputs of its instances (`members`). `saved_by`: the people who
    wrote or edited the saved plan behind it.
    """

    round: str
    calls: tuple[dict[str, Any], ...]
    by: str
    source: PlanSource
    follow: bool
    inputs: dict[str, Any] = {}
    instances: int = 0
    saved: str = ""  # name@version of the saved plan it was made from
    members: tuple[Member, ...] = ()
    tools: dict[str, int] = {}  # the version of each tool that it calls
    saved_by: tuple[str, ...] = ()
    v: int = 1


class PlanCommitted(Event, frozen=True, tag="plan.committed"):
    """The plan in force from now on, as version `version`. The same `round` goes on when a person edits a plan that is
    being carried out: what has begun stays as it is. `request` names the approval of the whole plan, if there was one,
    `tier`, `quorum` and `tools` (by name, the version) what it covers. With `follow` the agent may not deviate from it.
    """

    version: int
    round: str
    calls: tuple[dict[str, Any], ...]
    by: str
    source: PlanSource
    follow: bool
    inputs: dict[str, Any] = {}
    instances: int = 0  # how many instances follow, each an entry of its own; 0: the session itself
    request: str = ""
    tier: int = 0
    quorum: int = 0
    saved: str = ""  # name@version of the saved plan it was made from
    tools: dict[str, int] = {}
    saved_by: tuple[str, ...] = ()  # as of PlanProposed
    v: int = 1


class InstanceProposed(Event, frozen=True, tag="plan.instance_proposed"):
    """What an instance will be given if the plan `round`, which waits for a person, is committed. Until then nothing
    of it is in force. `subject` and `kid` are those of InstanceOpened.
    """

    round: str
    instance: str
    inputs: dict[str, Any] = {}
    subject: str = ""
    kid: str = ""
    salt: str = ""
    v: int = 1


class InstanceOpened(Event, frozen=True, tag="plan.instance_opened"):
    """One of the instances that the round is carried out for, and what it is given.

    `subject` names whose data it is and `kid` the key of that data subject, under which this entry and all others of
    the instance are encrypted; empty: the session's customer.
    """

    round: str
    instance: str
    inputs: dict[str, Any] = {}
    subject: str = ""
    kid: str = ""
    v: int = 1


class SubjectErased(Event, frozen=True, tag="subject.erased"):
    """The key `kid` of a data subject of some instances is about to be destroyed. The last entry under that key."""

    kid: str
    v: int = 1


class CallReadied(Event, frozen=True, tag="call.readied"):
    """A call of the plan has all its inputs and does not go on by itself: these are its resolved arguments."""

    call: str
    tool: str
    arguments: Arguments
    instance: str = ""
    activity: str = ""  # the function that is to execute it, when not the tool's own
    v: int = 1


class Dropped(msgspec.Struct, frozen=True):
    """A call of a plan that will never run. `kept`: its guard said no, so what stood at its output path stands."""

    name: str
    status: Literal["skipped", "blocked"]
    reason: str
    kept: bool = False


class CallsDropped(Event, frozen=True, tag="plan.calls_dropped"):
    """Calls that will never run: a branch was not taken, or what they depend on did not go well."""

    round: str
    instance: str
    calls: tuple[Dropped, ...]
    v: int = 1


class RoundEnded(Event, frozen=True, tag="plan.round_ended"):
    """Nothing of the round can happen any more. `counts` says how many calls ended how, `instances` how many instances
    ended well and how many did not; `because` is empty when it came to its end by itself. Otherwise `not_begun` names
    calls whose turn had not come, `beside` the approved calls that go on beside the next plan, `request` the approval
    of the whole plan, `approved_by` who gave it.
    """

    round: str
    counts: dict[str, int]
    instances: dict[str, int] = {}
    because: str = ""
    not_begun: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    request: str = ""
    approved_by: tuple[str, ...] = ()
    v: int = 1


class CallDelegated(Event, frozen=True, tag="call.delegated"):
    """A session of its own does what the call asks; its output will be the call's result."""

    call: str
    session: str
    v: int = 1


class TaskTaken(Event, frozen=True, tag="task.taken"):
    """This session does what a call of another asks: its output becomes the result of that call. `customers`: the
    people who spoke as the customer there. `share`: what it may use of the budget of the session above all others; 0:
    as much as its agent's own bounds allow. `remembered`: in older entries, what was refused and set going there.
    """

    parent: str
    call: str
    remembered: Remembered | None = None
    authors: tuple[str, ...] = ()  # the people who proposed that call: they proposed all that is done for it
    customers: tuple[str, ...] = ()
    share: Used = Used()
    v: int = 1


class TaskCustomersAdded(Event, frozen=True, tag="task.customers_added"):
    """These people spoke as the customer in the session that asked for the task, after this one got it. They may not
    approve what is done for it.
    """

    customers: tuple[str, ...]
    v: int = 1


class TaskDelivered(Event, frozen=True, tag="task.delivered"):
    """Of older entries: the session that did a call of this one came to its end. `remembered` is what people refused in
    it, and what it set going that day. `DelegateCounted` records that at once.
    """

    session: str
    remembered: Remembered
    v: int = 1


class DelegateCounted(Event, frozen=True, tag="delegate.counted"):
    """A delegate of this session, at any depth, has set calls going, or people have refused some in it. `remembered` is
    what came since the last such entry: it counts in the whole family from now on.
    """

    session: str
    remembered: Remembered
    v: int = 1


class DelegateOpened(Event, frozen=True, tag="delegate.opened"):
    """A delegate of this session, at any depth, was opened. It may use `share` of the budget, which counts as used
    until the delegate ends. `run`: the run in which it was opened.
    """

    session: str
    share: Used
    run: str = ""
    v: int = 1


class DelegateEnded(Event, frozen=True, tag="delegate.ended"):
    """A delegate of this session has ended. What it used counts in place of its share; steps are model requests."""

    session: str
    tokens: int = 0
    micros: int = 0
    steps: int = 0
    calls: int = 0
    v: int = 1


GoalSource = Literal["hand", "template", "model"]


class GoalsSet(Event, frozen=True, tag="goals.set"):
    """The tree of tasks as it is from now on, as version `version`. `call` is the model's, if a model made it."""

    version: int
    tree: dict[str, Any]
    by: str
    how: GoalSource
    call: str = ""
    v: int = 1
