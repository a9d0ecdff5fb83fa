"""What people, callers and the runtime ask for: a plan is handed over, edited, or carried out for another session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentstate.engine import events as ev
from agentstate.engine.decide import families
from agentstate.engine.decide.commands.plans import (
    Delegated,
    EditPlan,
    EraseSubject,
    InstanceGiven,
    ProposePlan,
    TakeTask,
)
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.plans.checking import checked, written
from agentstate.engine.decide.plans.force import after, gated
from agentstate.engine.decide.plans.refusals import AlreadyBegun, NoPlan, PlanChanged, PlanUnderWay, TooManyInstances
from agentstate.engine.decide.refusals import Outdated
from agentstate.engine.decide.sealing import sealed_again
from agentstate.engine.decide.withdrawals import calls_withdrawn, end_of, requests_withdrawn
from agentstate.engine.handlers import command_handler
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.rounds import MAX_INSTANCES, PLAN, Plans, delegate_of
from agentstate.engine.state.session import SessionState, calls_in
from agentstate.engine.state.subjects import kids
from agentstate.errors import Invalid, NotFound, Refused

ERASED = "its data subject was erased"
PAUSED = "the session that asked for it is paused, or a person has it"


@command_handler(ProposePlan)
def proposed(command: ProposePlan, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Proposes a plan from outside. It passes the same check and the same policy as a plan of the agent. Raises
    PlanUnderWay: another caller's calls end only by an explicit replacement or withdrawal.
    """
    must_live(state)
    _must_be_instances(state, command.instances)
    plan = checked(state, command.calls, command.inputs, context, command.instances)
    if not command.replace:
        must_be_free(state)
    round_id = context.new_id()
    offers = [_offered(round_id, each, state, context) for each in command.instances]
    proposal = ev.PlanProposed(
        round=round_id,
        calls=written(plan),
        by=command.by,
        source=command.source,
        follow=command.follow,
        inputs=command.inputs,
        instances=len(command.instances),
        saved=command.saved,
        saved_by=command.saved_by,
    )
    return gated(state, proposal, offers, context)


def must_be_free(state: SessionState) -> None:
    """Raises PlanUnderWay while a plan is carried out, waits for a person, or is approved and has not begun."""
    plans = state.plans
    if plans.is_open and plans.left:
        raise PlanUnderWay(f"version {plans.version} is being carried out")
    open_ = (CallStatus.WAITING, CallStatus.READY)
    if any(call.tool == PLAN for call in calls_in(state, *open_)):
        raise PlanUnderWay("it waits for a person, or is about to begin")


def _offered(round_id: str, wanted: InstanceGiven, state: SessionState, context: CommandContext) -> ev.InstanceProposed:
    """What the plan gives an instance, new or known: a known one stays its data subject's. Raises Invalid when it is
    another's.
    """
    held = state.plans.instances.get(wanted.name)
    if held is not None and wanted.kid and wanted.kid != held.kid:
        raise Invalid(f"{wanted.name} is an instance of another data subject", field="instances")
    subject, kid = (held.subject, held.kid) if held is not None else (wanted.subject, wanted.kid)
    return ev.InstanceProposed(round_id, wanted.name, wanted.inputs, subject, kid, context.new_id())


def _must_be_instances(state: SessionState, instances: Sequence[InstanceGiven]) -> None:
    names = [each.name for each in instances]
    held = len(state.plans.instances.keys() | set(names))
    if held > MAX_INSTANCES:
        raise TooManyInstances(f"the session would have {held}, at most {MAX_INSTANCES}", field="instances")
    if len(set(names)) < len(names):
        raise Invalid("two instances have the same name", field="instances")
    if any(not name or len(name) > 120 for name in names):
        raise Invalid("an instance needs a name of at most 120 characters", field="instances")


@command_handler(EditPlan)
def edited(command: EditPlan, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Another version of the plan, in the same round. What has begun stays as it was begun."""
    must_live(state)
    plans = state.plans
    if not plans.is_open:
        raise NoPlan()
    if command.version != plans.version:
        raise PlanChanged(f"it is version {plans.version} now, you saw {command.version}")
    members = [InstanceGiven(name) for name in plans.members if name]
    plan = checked(state, command.calls, _inputs(state), context, members)
    for name in _begun_names(plans):
        if plan.by_id.get(name) != plans.plan.by_id[name]:
            raise AlreadyBegun(f"{name} has begun: leave it as it is", field=name)
    return [
        ev.PlanCommitted(
            version=plans.version + 1,
            round=plans.round,
            calls=written(plan),
            by=command.by,
            source="person",
            follow=plans.follow,
            inputs=plans.inputs,
            instances=len(members),
        )
    ]


def _inputs(state: SessionState) -> dict[str, Any]:
    plans = state.plans
    first = plans.instances[plans.members[0]].inputs if plans.many and plans.members else {}
    return {**plans.inputs, **first}


def _begun_names(plans: Plans) -> set[str]:
    dropped = ("skipped", "blocked")
    return {
        name
        for instance in plans.members
        for name, outcome in plans.part(instance).outcomes.items()
        if outcome.began or outcome.status not in dropped
    }


@command_handler(TakeTask)
def task_taken(command: TakeTask, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The task of another session's call: its plan, or a note that its agent answers."""
    must_live(state)
    if state.plans.parent:
        raise Refused("this session has its task already")
    taken = ev.TaskTaken(
        command.parent, command.call, authors=command.authors, customers=command.customers, share=command.share
    )
    held = [ev.SessionPaused(PAUSED, command.paused_by, with_parent=True)] if command.paused_by else []
    if command.plan is None:
        return [taken, ev.MessageAdded("note", command.words, command.by), *held]
    return [taken, *proposed(command.plan, after(state, [taken], context), context), *held]


@command_handler(EraseSubject)
def subject_erased(command: EraseSubject, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What is open of the subject is withdrawn, the subject's instances go, and a round of which nothing is left ends.
    Nothing when the session has no such instances.
    """
    if command.kid not in kids(state) or command.kid in state.plans.erased:
        return []
    found = requests_withdrawn(state, ERASED, command.kid)
    found += calls_withdrawn(state, ERASED, "erased", kid=command.kid)
    found.append(ev.SubjectErased(command.kid))
    then = after(state, found, context)
    if then.plans.is_open and then.plans.left == 0 and not then.ended:
        found.append(end_of(then, ""))
    return [*found, *sealed_again(state)]


@command_handler(Delegated)
def delegated(command: Delegated, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The session that does what a running call asks, with its share of the budget where this session is above all
    others. Raises FamilyFull.
    """
    call = state.calls.get(command.call)
    if call is None:
        raise NotFound(f"there is no call {command.call}")
    if call.status is not CallStatus.RUNNING or call.delegate:
        raise Outdated(f"call {call.id} is {call.status.value}")
    delegated = ev.CallDelegated(call.id, command.session)
    if context.family is not None or not delegate_of(state.plans, call.id):
        return [delegated]
    return [families.opening(command.session, state, context), delegated]
