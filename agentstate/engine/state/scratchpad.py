"""What events change in the scratchpad: values, conflicts, the version of its schema, and values vouched for."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.handlers import event_handler
from agentstate.engine.merge.kept import KEPT_CHANGES, KEPT_ENDED, KEPT_MARKS, Changes, Conflict
from agentstate.engine.merge.paths import put, removed
from agentstate.engine.merge.three_way import written
from agentstate.engine.migrating.in_force import InForce
from agentstate.engine.scratchpad import Pad
from agentstate.engine.state.session import Call, SessionState


@event_handler(ev.StateChanged)
def state_changed(state: SessionState, event: ev.StateChanged, at: str) -> SessionState:
    fresh = {each.path: each.marks for each in event.writes if each.marks}
    older = {path: marks for path, marks in state.changes.marks.items() if path not in fresh}
    marks = dict(list({**older, **fresh}.items())[-KEPT_MARKS:])
    return replace(
        state,
        pad=written(state.pad, event.writes),
        changes=replace(_applied(state.changes, event.change), marks=marks),
    )


def _applied(changes: Changes, change: str) -> Changes:
    if change in changes.applied:
        return changes
    return replace(changes, applied=(*changes.applied, change)[-KEPT_CHANGES:])


@event_handler(ev.ConflictOpened)
def conflict_opened(state: SessionState, event: ev.ConflictOpened, at: str) -> SessionState:
    opened = Conflict(
        event.conflict,
        state.seq,
        at,
        event.path,
        event.rule,
        event.quorum,
        event.declared,
        event.base,
        event.standing,
        (event.proposal,),
        {event.proposal.by: event.proposal.id},
    )
    return _with(replace(state, changes=_applied(state.changes, event.change)), opened)


@event_handler(ev.ValueProposed)
def value_proposed(state: SessionState, event: ev.ValueProposed, at: str) -> SessionState:
    conflict = state.changes.conflicts[event.conflict]
    return _with(state, replace(conflict, proposals=(*conflict.proposals, event.proposal)))


@event_handler(ev.VoteCast)
def vote_cast(state: SessionState, event: ev.VoteCast, at: str) -> SessionState:
    conflict = state.changes.conflicts[event.conflict]
    return _with(state, replace(conflict, votes={**conflict.votes, event.by: event.proposal}))


@event_handler(ev.ConflictEnded)
def conflict_ended(state: SessionState, event: ev.ConflictEnded, at: str) -> SessionState:
    """The chosen value holds; where nothing was chosen, what stands goes on standing."""
    conflict = state.changes.conflicts[event.conflict]
    state = _with(state, replace(conflict, status=event.outcome, chosen=event.proposal, by=event.by))
    if not event.proposal:
        return state
    pad = put(state.pad, conflict.path, event.value[0]) if event.value else removed(state.pad, conflict.path)
    return replace(state, pad=pad)


def _with(state: SessionState, conflict: Conflict) -> SessionState:
    conflicts = {**state.changes.conflicts, conflict.id: conflict}
    ended = [each.id for each in conflicts.values() if each.status != "open"]
    gone = ended[: max(0, len(ended) - KEPT_ENDED)]
    kept = {key: each for key, each in conflicts.items() if key not in gone}
    return replace(state, changes=replace(state.changes, conflicts=kept))


def put_back(now: Changes, older: Changes) -> Changes:
    """After a rollback: the marks of then, and of now which changes have arrived and how conflicts ended."""
    return replace(now, marks=older.marks)


@event_handler(ev.StateMigrated)
def state_migrated(state: SessionState, event: ev.StateMigrated, at: str) -> SessionState:
    if event.instance:
        return _instance_migrated(state, event)
    pad = _carried(state.pad, event)
    calls = {key: _aimed(call, event.moved) for key, call in state.calls.items()}
    conflicts = {key: _contested(conflict, event.moved) for key, conflict in state.changes.conflicts.items()}
    return replace(
        state,
        pad=pad,
        calls=calls,
        changes=replace(state.changes, conflicts=conflicts),
        schema=InForce(event.schema, event.after, event.held),
    )


def _carried(pad: Pad, event: ev.StateMigrated) -> Pad:
    return {**{name: value for name, value in pad.items() if name not in event.gone}, **event.put}


def _instance_migrated(state: SessionState, event: ev.StateMigrated) -> SessionState:
    part = state.plans.instances[event.instance]
    instances = {**state.plans.instances, event.instance: replace(part, pad=_carried(part.pad, event), seq=state.seq)}
    return replace(state, plans=replace(state.plans, instances=instances))


def _contested(conflict: Conflict, moved: dict[str, str]) -> Conflict:
    return replace(conflict, path=moved.get(conflict.path, conflict.path))


def _aimed(call: Call, moved: dict[str, str]) -> Call:
    path = moved.get(call.output_path or "")
    return call if path is None else replace(call, output_path=path)


@event_handler(ev.StatePruned)
def state_pruned(state: SessionState, event: ev.StatePruned, at: str) -> SessionState:
    pad = state.pad
    for path in event.paths:
        pad = removed(pad, path)
    return replace(state, pad=pad)


@event_handler(ev.ValueProved)
def value_proved(state: SessionState, event: ev.ValueProved, at: str) -> SessionState:
    return state
