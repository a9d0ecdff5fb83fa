"""Commands about plans: people and callers propose and edit them; the runtime hands a call to a session of its own."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.calls import Fail, Return
from agentstate.engine.remembered import Remembered


class InstanceGiven(msgspec.Struct, frozen=True):
    """One instance that a plan is to be carried out for, and what it is given. `subject` is whose data it is, `kid` the
    key of that data subject; empty: the session's customer.
    """

    name: str
    inputs: dict[str, Any] = {}
    subject: str = ""
    kid: str = ""


class ProposePlan(Command, frozen=True):
    """Somebody hands the session a plan, in the protocol's notation, and what it is given. With `instances` it is
    carried out for each of them. With `replace` it takes the place of the plan that is under way, or that waits.
    `saved_by`: the people who wrote or edited the saved plan `saved`.
    """

    beside_the_wish: ClassVar[frozenset[str]] = frozenset({"saved_by"})

    calls: tuple[dict[str, Any], ...]
    by: str
    follow: bool = False
    inputs: dict[str, Any] = {}
    instances: tuple[InstanceGiven, ...] = ()
    saved: str = ""
    source: ev.PlanSource = "person"
    replace: bool = False
    saved_by: tuple[str, ...] = ()


class EditPlan(Command, frozen=True):
    """A person changes the plan that is being carried out. `version` is the one that they saw."""

    calls: tuple[dict[str, Any], ...]
    by: str
    version: int


class EraseSubject(Command, frozen=True):
    """The key `kid` of a data subject of some instances is about to be destroyed."""

    kid: str


class Delegated(Command, frozen=True):
    """The runtime has handed a running call to a session of its own."""

    call: str
    session: str


class TakeTask(Command, frozen=True):
    """A session that was opened for it takes on what a call of another session asks: a plan, or words to its agent.
    `remembered` is what that session remembers of people's answers and of the day's sums, `customers` the people who
    spoke as the customer in it.
    """

    beside_the_wish: ClassVar[frozenset[str]] = frozenset({"remembered", "customers"})

    parent: str
    call: str
    by: str
    words: str = ""
    plan: ProposePlan | None = None
    remembered: Remembered | None = None
    authors: tuple[str, ...] = ()
    customers: tuple[str, ...] = ()


class Deliver(Command, frozen=True):
    """The session that did a call of this one has ended: how that went, and what it remembers beyond what it was given;
    None where it did the task of another data subject.
    """

    outcome: Return | Fail
    session: str
    remembered: Remembered | None = None
