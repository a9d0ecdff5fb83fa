"""What events change in the form of the state: it is carried to another version of its schema, or pruned.

A function an event, named like it.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.merge.kept import Conflict
from agentstate.engine.merge.paths import removed
from agentstate.engine.migrating.in_force import InForce
from agentstate.engine.scratchpad import Pad
from agentstate.engine.state.session import Call, SessionState


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


def state_pruned(state: SessionState, event: ev.StatePruned, at: str) -> SessionState:
    pad = state.pad
    for path in event.paths:
        pad = removed(pad, path)
    return replace(state, pad=pad)
