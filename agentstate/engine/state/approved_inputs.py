"""Watches the values that an approved plan reads. A change by anything but an approved call removes the calls that read
the value from the approval.

A tool's own result may fill a reference of an approved plan. Any other write there makes the calls that read it be
asked about one by one: by a person, a vote, a data message, a call that a model answers or a delegate does, or a call
outside the plan or not as approved, which a call is that has read such a value. While a plan waits for its approval,
every such write makes it be asked about again.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import references
from agentstate.engine.plan import model, when
from agentstate.engine.plan.model import Call
from agentstate.engine.references import Path, Views
from agentstate.engine.scratchpad import scopes
from agentstate.engine.state.rounds import Instance, offered_by, place_of, views_of, with_part
from agentstate.engine.state.session import SessionState


def watched(before: SessionState, state: SessionState, event: ev.AnyEvent) -> SessionState:
    """The state with what `event` has changed of that which approved calls, and a plan that waits, read."""
    if isinstance(event, ev.ApprovalRequested) and event.call == state.plans.proposed:
        return replace(state, plans=replace(state.plans, shaken=None))
    if isinstance(event, ev.PlanCommitted) or not (state.plans.approved or state.plans.proposed):
        return state
    if isinstance(event, ev.DecisionMade) and event.arguments is not None:
        return _edited(state, event)
    written = _written(before, state)
    if not written:
        return state
    return _approved(before, _proposed(before, state, event, written), event, written)


def _written(before: SessionState, state: SessionState) -> frozenset[str]:
    """The instances whose values may be others than before; empty text: the session itself."""
    was, now = before.plans, state.plans
    own = before.pad is not state.pad or was.own.data is not now.own.data
    if was.instances is now.instances:
        return frozenset([""] if own else [])
    parts = (name for name, part in now.instances.items() if _is_other(was.instances.get(name, Instance()), part))
    return frozenset([*([""] if own else []), *parts])


def _is_other(was: Instance, now: Instance) -> bool:
    return was is not now and (was.pad is not now.pad or was.data is not now.data or was.inputs is not now.inputs)


def _proposed(before: SessionState, state: SessionState, event: ev.AnyEvent, written: frozenset[str]) -> SessionState:
    """The plan that waits, shaken when something that it reads was changed."""
    waits = state.calls.get(state.plans.proposed)
    if waits is None or before.plans.proposed != state.plans.proposed:
        return state
    plan = model.read(list(waits.arguments["calls"]))
    members = tuple(offered_by(state.plans, waits.id)) or ("",)
    for call in plan.calls:
        if (path := _changed(call, before, state, written, members)) is not None:
            shaken = ev.ChangedInput(str(path[1]), _who(before, event))
            return replace(state, plans=replace(state.plans, shaken=shaken))
    return state


def _approved(before: SessionState, state: SessionState, event: ev.AnyEvent, written: frozenset[str]) -> SessionState:
    """Marks the calls of the approved plan that have not begun and whose inputs `event` has changed."""
    plans = state.plans
    if plans.approved is None or not plans.is_open or plans.round != before.plans.round or _is_own(before, event):
        return state
    covered = [plans.plan.by_id[name] for name in plans.approved.calls]
    members = plans.members if plans.plan.instances else [each for each in plans.members if each in written]
    by = _who(before, event)
    for member in members:
        part = plans.part(member)
        found = {
            call.id: ev.ChangedInput(str(path[1]), by)
            for call in covered
            if call.id not in part.outcomes and call.id not in part.rewritten
            if (path := _changed(call, before, state, written, (member,))) is not None
        }
        if found:
            plans = with_part(plans, member, replace(part, rewritten={**part.rewritten, **found}, seq=state.seq))
    return replace(state, plans=plans)


def _edited(state: SessionState, event: ev.DecisionMade) -> SessionState:
    """A call of the plan that a person edited in its own request is not as approved, nor is what it gives."""
    request = state.requests.get(event.request)
    place = place_of(state.plans, request.asked.call) if request is not None else None
    if place is None or state.plans.approved is None:
        return state
    name, instance = place
    part = state.plans.part(instance)
    rewritten = {**part.rewritten, name: ev.ChangedInput("arguments", event.by)}
    return replace(state, plans=with_part(state.plans, instance, replace(part, rewritten=rewritten, seq=state.seq)))


def _is_own(before: SessionState, event: ev.AnyEvent) -> bool:
    """Whether an event is the result of a tool whose call ran as approved, and no model wrote it."""
    plans = before.plans
    if plans.approved is None or not isinstance(event, ev.ToolReturned | ev.ToolFailed):
        return False
    if _is_of_a_model(before, event):
        return False
    place = place_of(plans, event.call)
    return place is not None and place[0] in plans.approved.calls and place[0] not in plans.part(place[1]).rewritten


def _is_of_a_model(before: SessionState, event: ev.ToolReturned | ev.ToolFailed) -> bool:
    """Whether a model wrote the result: it answers the call, or a delegate does the call."""
    call = before.calls.get(event.call)
    is_answered = isinstance(event, ev.ToolReturned) and event.answered is not None
    return is_answered or (call is not None and bool(call.delegate))


def _who(before: SessionState, event: ev.AnyEvent) -> str:
    """Returns the author of a change: a person, also where a call returned what their edit led to; else the agent."""
    if isinstance(event, ev.RequestEnded):
        return before.requests[event.request].decided_by
    if isinstance(event, ev.ToolReturned | ev.ToolFailed):
        place = place_of(before.plans, event.call)
        marked = before.plans.part(place[1]).rewritten.get(place[0]) if place is not None else None
        edited = before.plans.approved.edited if before.plans.approved is not None else {}
        by = marked.by if marked is not None else edited.get(place[0], "") if place is not None else ""
    else:
        by = getattr(event, "by", "")
    return by or f"agent:{before.opened.agent if before.opened else ''}"


def _changed(
    call: Call, before: SessionState, state: SessionState, written: frozenset[str], members: tuple[str, ...]
) -> tuple[str, Path] | None:
    """The first place that the call reads, for one of these instances, and at which another value stands now."""
    for member in members:
        at = call.instance or member
        if at not in written:
            continue
        was, now = views(before, at), views(state, at)
        for path in reads(call):
            if digest_at(was, path) != digest_at(now, path):
                return at, path
    return None


def views(state: SessionState, instance: str) -> Views:
    """What references of that instance may read in this state."""
    return views_of(state.plans, state.pad, instance)


def digest_at(views: Views, path: Path) -> str:
    """Returns the digest of the value at `path`; empty: the path has no value."""
    found = references.read(views, path)
    return ev.digest(found.value) if found is not None else ""


def reads(call: Call) -> tuple[Path, ...]:
    """Every path of values that a call's outcome hangs on: what its parameters, its guard and its scopes name."""
    return tuple(dict.fromkeys(_reads(call)))


def _reads(call: Call) -> Iterator[Path]:
    for _, reference in call.refers:
        yield from reference.paths
    yield from when.reads(call.when)
    for scope in call.scopes or ():
        yield scopes.read(scope)
