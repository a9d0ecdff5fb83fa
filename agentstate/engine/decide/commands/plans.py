"""Commands to plans, their delegates, and goals."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.calls import Fail, Return
from agentstate.engine.looping.held import Used
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
    """A person or program proposes a plan, in the protocol's notation, with its inputs. With `instances` it is carried
    out for each of them. With `replace` it replaces the plan that is under way, or that waits. `saved_by`: the people
    who wrote or edited the saved plan `saved`.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"saved_by"})

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
    """A delegate takes on the task of another session's call: a plan, or instructions for its agent. `customers`: the
    people who spoke as the customer there. `paused_by`: the person who has that session, or its pause, at this moment.
    `share`: what it may use of the budget of the session above all others.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"customers", "paused_by", "share"})

    parent: str
    call: str
    by: str
    words: str = ""
    plan: ProposePlan | None = None
    authors: tuple[str, ...] = ()
    customers: tuple[str, ...] = ()
    paused_by: str = ""
    share: Used = Used()


class AddTaskCustomers(Command, frozen=True):
    """People spoke as the customer in the session that asked for the task, after it was given."""

    customers: tuple[str, ...]


class Deliver(Command, frozen=True):
    """A delegate of this session has ended, with this outcome."""

    outcome: Return | Fail
    session: str


class CountDelegate(Command, frozen=True):
    """A delegate of this session, at any depth, has set calls going, or people have refused some in it."""

    session: str
    remembered: Remembered


class OpenDelegate(Command, frozen=True):
    """A delegate of this session is about to open one of its own."""

    session: str


class EndDelegate(Command, frozen=True):
    """A delegate of this session, at any depth, has ended and used so much."""

    session: str
    tokens: int = 0
    micros: int = 0
    steps: int = 0
    calls: int = 0


class SetGoals(Command, frozen=True):
    """Somebody takes a goal apart, or changes how it was. `version` is the one that they saw. With `inputs` the tree is
    a template, whose references to `input` they fill.
    """

    tree: dict[str, Any]
    by: str
    version: int
    how: ev.GoalSource = "hand"
    inputs: dict[str, Any] | None = None


class ChangeGoals(Command, frozen=True):
    """Somebody changes one task of the tree. `version` is the one that they saw. `add`: `fields` is the task that comes
    below `task`; `change`: its other fields; `remove`: it goes, with all below it.
    """

    op: Literal["add", "change", "remove"]
    task: str
    by: str
    version: int
    fields: dict[str, Any] = {}
