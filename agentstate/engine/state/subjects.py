"""Whose data it is: what concerns an instance that has a data subject of its own, kept apart from the session's own.

Entries, snapshot parts and cards that concern such an instance are encrypted under its subject's key. When that key is
destroyed the session folds on without them: `passed_over` stands for each entry that nobody can read any more, and what
follows from the others is as if the instance had never been there.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.handlers import event_handler
from agentstate.engine.plan.rounds import OPEN
from agentstate.engine.state.rounds import MAX_INSTANCES, Plans, place_of
from agentstate.engine.state.session import SessionState


def kid_of_call(state: SessionState, call: str) -> str:
    """The id of the key that a call's data is under; empty: that of the session's customer."""
    if not state.plans.instances and not state.versions.late:
        return ""
    if (held := state.calls.get(call)) is not None:
        return held.kid
    if (late := state.versions.late.get(call)) is not None:
        return late.kid
    place = place_of(state.plans, call)
    return kid_of_instance(state.plans, place[1]) if place else ""


def kid_of_instance(plans: Plans, name: str) -> str:
    """The same of an instance."""
    part = plans.instances.get(name) if name else None
    return part.kid if part else ""


def kid_of(state: SessionState, event: ev.AnyEvent) -> str:
    """The id of the key that `event`, which happens in `state`, is encrypted under; empty: that of the session's
    customer.
    """
    if isinstance(event, ev.InstanceProposed | ev.InstanceOpened | ev.SubjectErased):
        return event.kid
    if not state.plans.instances and not state.versions.late:
        return ""
    match event:
        case ev.CallsDropped() | ev.StateMigrated() | ev.CallReadied() | ev.DataAdded():
            return kid_of_instance(state.plans, event.instance)
        case (
            ev.DecisionMade()
            | ev.RequestEnded()
            | ev.RequestEscalated()
            | ev.RequestHeld()
            | ev.RequestUndone()
            | ev.RequestClaimed()
            | ev.RequestReleased()
        ):
            request = state.requests.get(event.request)
            return request.kid if request else ""
        case (
            ev.CallAllowed()
            | ev.CallRefused()
            | ev.CallWithdrawn()
            | ev.ApprovalRequested()
            | ev.ToolIntended()
            | ev.ToolReturned()
            | ev.ToolFailed()
            | ev.CallDoubted()
            | ev.CallIntervened()
            | ev.CallDelegated()
        ):
            return kid_of_call(state, event.call)
        case _:
            return ""


def kids(state: SessionState) -> frozenset[str]:
    """The keys, other than the session's own, that the state has read something under."""
    plans = state.plans
    return frozenset(part.kid for part in plans.instances.values() if part.kid) | frozenset(plans.leaving)


def passed_over(state: SessionState, kid: str) -> SessionState:
    """The state after an entry whose payload was erased with its subject: it knows that there was one."""
    plans = state.plans
    if kid in plans.erased:
        return state
    return replace(state, plans=replace(plans, erased=(*plans.erased, kid)[-MAX_INSTANCES:]))


@event_handler(ev.SubjectErased)
def subject_erased(state: SessionState, event: ev.SubjectErased, at: str) -> SessionState:
    """The subject's instances are gone, with their calls and requests; the others go on."""
    left = _open_calls(state, event.kid)
    state = without(state, frozenset([event.kid]))
    plans = replace(
        state.plans, leaving=(*state.plans.leaving, event.kid)[-MAX_INSTANCES:], left=state.plans.left - left
    )
    return passed_over(replace(state, plans=plans), event.kid)


def _open_calls(state: SessionState, kid: str) -> int:
    """How many calls of the round, of instances of that subject, have not ended."""
    plans = state.plans
    if not plans.is_open or not plans.many:
        return 0
    parts = [plans.instances[name] for name in plans.members if plans.instances[name].kid == kid]
    return sum(
        name not in part.outcomes or part.outcomes[name].status in OPEN for part in parts for name in plans.plan.by_id
    )


def without(state: SessionState, gone: frozenset[str]) -> SessionState:
    """The state without what concerns instances under the keys `gone`."""
    plans = state.plans
    instances = {name: part for name, part in plans.instances.items() if part.kid not in gone}
    ready = tuple(key for key in plans.ready if kid_of_call(state, key) not in gone)
    late = {key: call for key, call in state.versions.late.items() if call.kid not in gone}
    return replace(
        state,
        calls={key: call for key, call in state.calls.items() if call.kid not in gone},
        requests={key: request for key, request in state.requests.items() if request.kid not in gone},
        plans=replace(plans, instances=instances, ready=ready),
        versions=replace(state.versions, late=late),
    )


def own(state: SessionState) -> SessionState:
    """The state without what concerns others than the session's customer: what an entry of theirs may carry."""
    others = kids(state)
    return without(state, others) if others else state
