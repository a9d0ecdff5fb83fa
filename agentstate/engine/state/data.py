"""What a data message changes: the object of its kind, of the session itself or of one of its instances."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.scratchpad import messages
from agentstate.engine.state.rounds import Instance
from agentstate.engine.state.session import SessionState


def data_added(state: SessionState, event: ev.DataAdded, at: str) -> SessionState:
    plans = state.plans
    part = plans.instances.get(event.instance, Instance()) if event.instance else plans.own
    held = messages.patched(part.data.get(event.of), event.data, event.schema, event.by)
    part = replace(part, data={**part.data, event.of: held}, seq=state.seq)
    if not event.instance:
        return replace(state, plans=replace(plans, own=part))
    return replace(state, plans=replace(plans, instances={**plans.instances, event.instance: part}))
