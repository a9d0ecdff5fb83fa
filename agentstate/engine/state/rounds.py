"""What a session remembers of its plan: the plan in force, the round that carries it out, and the instances.

One round at a time. Its calls have ids made of the round, their name in the plan and their instance, so that a result
finds its place without an index. Bounded: a plan of at most `MAX_PLAN` calls in all instances together, at most
`MAX_INSTANCES` instances; larger batches are shared out to other sessions before they come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.plan.facts import BATCH
from agentstate.engine.plan.goals import Goal
from agentstate.engine.plan.model import Call as Planned
from agentstate.engine.plan.model import Plan, write
from agentstate.engine.plan.rounds import Outcome, Round
from agentstate.engine.references import Views
from agentstate.engine.scratchpad.marks import Marks
from agentstate.engine.scratchpad.messages import Held, PrivateSchemas, joined, private_paths, values

MAX_INSTANCES = 1_000
TOLD_CALLS = 40  # of a plan, that a model request shows one by one
KEPT_VERSIONS = 50  # whose entries can be looked up at once
MAX_PLAN = 10_000  # calls of one round, those of all instances together
PLAN = "plan"  # the tool by which a plan is proposed as a whole, and approved
Told = Literal["each", "whole", "note"]


class Instance(msgspec.Struct, frozen=True):
    """One data context: its scratchpad, what it was given, the objects of its other data messages by kind, and how far
    the round is with it. `seq` is the entry that changed it last. `subject` is the data subject and `kid` the key of
    that subject; empty: the session's customer. `offered`: its inputs in plans that wait for a person, by round.
    `rewritten`: by name, the calls of the round whose inputs a person changed after the approval. `writers`: by path,
    the people who wrote the value there. `private_schemas`: those with private fields that its data messages brought.
    """

    pad: dict[str, Any] = {}
    inputs: dict[str, Any] = {}
    round: str = ""
    outcomes: dict[str, Outcome] = {}
    marks: dict[str, Marks] = {}
    seq: int = 0
    subject: str = ""
    kid: str = ""
    data: dict[str, Held] = {}
    offered: dict[str, dict[str, Any]] = {}
    rewritten: dict[str, ev.ChangedInput] = {}
    writers: dict[str, tuple[str, ...]] = {}
    private_schemas: dict[str, tuple[Any, ...]] = {}


class Approval(msgspec.Struct, frozen=True):
    """A person's approval of the whole plan. Its request stays in the state as long as the approval does."""

    request: str
    tier: int
    quorum: int
    calls: tuple[str, ...] = ()  # names of the calls that are as approved, with every call that they read from
    edited: dict[str, str] = {}  # names of the other calls, and the person who edited the plan
    tools: dict[str, int] = {}  # the version of each tool as it was approved


class Plans(msgspec.Struct, frozen=True):
    """The plan in force and its round. `ready` are ids of calls that may begin, oldest first; `left` counts the calls
    that have not ended; `told` says how the agent learns of results; `own` is the round's part of the session itself,
    whose scratchpad is the session's and whose data messages are those without an instance.
    """

    version: int = 0
    rounds: int = 0
    round: str = ""
    is_open: bool = False
    plan: Plan = Plan()
    by: str = ""
    authors: tuple[str, ...] = ()  # the people who proposed the plan or edited it, in any version of this round
    source: str = ""
    saved: str = ""
    follow: bool = False
    run: str = ""
    told: Told = "note"
    approved: Approval | None = None
    inputs: dict[str, Any] = {}
    ready: tuple[str, ...] = ()
    left: int = 0
    counts: dict[str, int] = {}
    own: Instance = Instance()
    instances: dict[str, Instance] = {}
    many: bool = False
    committed: tuple[int, ...] = ()  # seqs of the latest versions
    parent: str = ""  # the session whose task this one does
    parent_call: str = ""  # and the call that it is
    parent_authors: tuple[str, ...] = ()  # and the people who proposed it
    proposed: str = ""  # the round of a plan that waits for a person
    shaken: ev.ChangedInput | None = None  # what that plan reads was changed since its request was made
    erased: tuple[str, ...] = ()  # keys of data subjects of whom nothing can be read any more, the latest
    leaving: tuple[str, ...] = ()  # those of them whose entries were read when this state was folded

    @property
    def members(self) -> tuple[str, ...]:
        """The instances of the round; the session itself is the one without a name."""
        if not self.many:
            return ("",)
        return tuple(name for name, instance in self.instances.items() if instance.round == self.round)

    def part(self, instance: str) -> Instance:
        """The round's part of that instance; an empty one of an instance that is not there any more."""
        return self.instances.get(instance, Instance()) if self.many else self.own


def call_id(round_id: str, name: str, instance: str = "") -> str:
    """The id under which a call of a plan is known in the session."""
    return f"{round_id}.{name}@{instance}" if instance else f"{round_id}.{name}"


def place_of(plans: Plans, call: str) -> tuple[str, str] | None:
    """(name, instance of the round) of a call's id; None when it is no call of the round."""
    if not plans.round or not call.startswith(plans.round + "."):
        return None
    name, _, instance = call[len(plans.round) + 1 :].partition("@")
    return name, instance


def is_told_later(plans: Plans, call: str) -> bool:
    """Whether the agent learns of this call's result only when the round has ended."""
    return plans.told != "each" and place_of(plans, call) is not None


def planned(plans: Plans, call: str) -> Planned | None:
    """The call as it stands in the plan; None when it is no call of the round."""
    if not plans.round:
        return None
    place = place_of(plans, call)
    return plans.plan.by_id.get(place[0]) if place else None


def delegate_of(plans: Plans, call: str) -> str:
    """Whom a call is handed to, a session of its own; empty: to none. A part of a batch has its session already."""
    found = planned(plans, call)
    return found.delegate if found is not None and found.delegate != BATCH else ""


def data_instance(plans: Plans, call: str) -> str:
    """The instance whose scratchpad a call reads and writes: its own, else that of the round; empty: the session."""
    place = place_of(plans, call)
    if place is None:
        return ""
    found = plans.plan.by_id.get(place[0])
    return (found.instance if found else "") or place[1]


def pad_of(plans: Plans, pad: dict[str, Any], instance: str) -> dict[str, Any]:
    """The scratchpad of an instance; `pad` is the session's."""
    if not instance:
        return pad
    found = plans.instances.get(instance)
    return found.pad if found else {}


def board_of(plans: Plans, instance: str) -> dict[str, Held]:
    """The objects of data messages of an instance, or of the session itself: nothing of one is seen by another."""
    if not instance:
        return plans.own.data
    found = plans.instances.get(instance)
    return found.data if found else {}


def boards(plans: Plans) -> Iterator[dict[str, Held]]:
    """Those of the session itself and of every instance."""
    yield plans.own.data
    yield from (part.data for part in plans.instances.values())


def private_schemas(plans: Plans) -> PrivateSchemas:
    """Every schema with private fields that data messages of the session or of an instance have brought, by kind."""
    others = [part.private_schemas for part in plans.instances.values() if part.private_schemas]
    return joined((plans.own.private_schemas, *others)) if others else plans.own.private_schemas


def private_schemas_of(plans: Plans, instance: str) -> PrivateSchemas:
    """Those that say what is private for calls of one instance, or of the session itself."""
    part = plans.instances.get(instance) if instance else None
    if part is None or not part.private_schemas:
        return plans.own.private_schemas
    return joined((plans.own.private_schemas, part.private_schemas))


def private_places(plans: Plans, of_state: tuple[str, ...]) -> tuple[str, ...]:
    """The private places of the state, which are `of_state`, and all that data messages have declared so far."""
    return (*of_state, *private_paths(private_schemas(plans)))


def views_of(plans: Plans, pad: dict[str, Any], instance: str) -> Views:
    """What references of that instance may read. Its own input stands over the round's."""
    found = plans.instances.get(instance) if instance else None
    inputs = {**plans.inputs, **found.inputs} if found else plans.inputs
    data = values(board_of(plans, instance))
    return {**data, "state": pad_of(plans, pad, instance), "input": inputs}


def others_of(plans: Plans, pad: dict[str, Any]) -> Mapping[str, Views]:
    """The views of the instances that calls of the plan name."""
    return {name: views_of(plans, pad, name) for name in plans.plan.instances}


def round_of(plans: Plans, instance: str) -> Round:
    """The round as the plan's own functions know it, of one instance."""
    part = plans.part(instance)
    return Round(plans.plan, plans.rounds, instance, part.outcomes, part.marks)


def with_part(plans: Plans, instance: str, part: Instance) -> Plans:
    """The plans with another part of one instance."""
    if not plans.many:
        return replace(plans, own=part)
    return replace(plans, instances={**plans.instances, instance: part})


def put_back(plans: Plans, seq: int) -> Plans:
    """The plans after a rollback at entry `seq`, or in a fork: versions stay counted, instances are as they were, the
    round is over.
    """
    plans = not_offered(plans, plans.proposed)
    instances = {name: replace(part, seq=seq) for name, part in plans.instances.items()}
    return replace(plans, is_open=False, ready=(), left=0, proposed="", shaken=None, approved=None, instances=instances)


def offered_by(plans: Plans, round_id: str) -> dict[str, dict[str, Any]]:
    """What each instance will be given by the plan that waits for a person under this round."""
    return {name: part.offered[round_id] for name, part in plans.instances.items() if round_id in part.offered}


def not_offered(plans: Plans, round_id: str) -> Plans:
    """The plans without what a proposed plan offers its instances; one that had nothing else is not there any more."""
    names = offered_by(plans, round_id)
    if not names:
        return plans
    instances = dict(plans.instances)
    for name in names:
        offered = {key: inputs for key, inputs in instances[name].offered.items() if key != round_id}
        instances[name] = replace(instances[name], offered=offered)
        if instances[name] == Instance(
            subject=instances[name].subject, kid=instances[name].kid, seq=instances[name].seq
        ):
            del instances[name]
    return replace(plans, instances=instances)


def message(plans: Plans) -> dict[str, Any] | None:
    """The committed plan as the agent is told of it with its next request: it may follow, extend, change or drop it. A
    plan of more than `TOLD_CALLS` calls, or of many instances, is told in numbers. None where there is no plan.
    """
    if not plans.version:
        return None
    told: dict[str, Any] = {"version": plans.version, "open": plans.is_open, "follow": plans.follow}
    if plans.many or len(plans.plan.calls) > TOLD_CALLS:
        counted = plans.counts or {"to come": plans.left}
        return {**told, "calls": len(plans.plan.calls), "instances": len(plans.members), "counts": counted}
    outcomes = plans.own.outcomes
    stands = {name: outcomes[name].status if name in outcomes else "waiting" for name in plans.plan.by_id}
    return {**told, "calls": write(plans.plan), "stands": stands}


class Goals(msgspec.Struct, frozen=True):
    """The tree in force, if there is one, how many there were, and how saved plans that its tasks name have ended."""

    version: int = 0
    tree: Goal | None = None
    ended: dict[str, Literal["done", "failed"]] = {}  # `name@version` -> how, of plans that tasks name
