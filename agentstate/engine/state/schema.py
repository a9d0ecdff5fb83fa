"""What events change in the form of the state: it is carried to another version of its schema, or pruned.

A function an event, named like it.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.merge.paths import removed
from agentstate.engine.migrating.in_force import InForce
from agentstate.engine.state.session import Call, SessionState


def state_migrated(state: SessionState, event: ev.StateMigrated, at: str) -> SessionState:
    pad = {**{name: value for name, value in state.pad.items() if name not in event.gone}, **event.put}
    calls = {key: _aimed(call, event.moved) for key, call in state.calls.items()}
    return replace(state, pad=pad, calls=calls, schema=InForce(event.schema, event.after, event.held))


def _aimed(call: Call, moved: dict[str, str]) -> Call:
    path = moved.get(call.output_path or "")
    return call if path is None else replace(call, output_path=path)


def state_pruned(state: SessionState, event: ev.StatePruned, at: str) -> SessionState:
    pad = state.pad
    for path in event.paths:
        pad = removed(pad, path)
    return replace(state, pad=pad)
