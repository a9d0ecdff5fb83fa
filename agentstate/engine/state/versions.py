"""What events change in the versions of a session, and the checkpoints that come by themselves.

A function an event, named like it. Going back is in `rollback`, forks in `forks`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.handlers import event_handler
from agentstate.engine.state.session import SessionState, pending
from agentstate.engine.versions.kept import EVERY, Checkpoint, Why, with_checkpoint

_BEFORE: Mapping[type, Why] = {ev.ApprovalRequested: "gate", ev.ToolIntended: "effect"}


@event_handler(ev.CheckpointNamed)
def checkpoint_named(state: SessionState, event: ev.CheckpointNamed, at: str) -> SessionState:
    made = Checkpoint(event.seq, "named", event.at or at, event.name, event.digest, event.by)
    return replace(state, versions=with_checkpoint(state.versions, made))


def late_result(state: SessionState, event: ev.ToolReturned | ev.ToolFailed) -> SessionState:
    """A result of an older epoch: it is in the log, and nothing else changes."""
    late = {key: call for key, call in state.versions.late.items() if key != event.call}
    return replace(state, versions=replace(state.versions, late=late))


def marked(before: SessionState, after: SessionState, event: ev.AnyEvent, at: str) -> SessionState:
    """`after` with the automatic checkpoint that `event` calls for: before a gate, before an effect, at rest, and every
    EVERY entries.
    """
    made = _checkpoint(before, event, at)
    return after if made is None else replace(after, versions=with_checkpoint(after.versions, made))


def _checkpoint(before: SessionState, event: ev.AnyEvent, at: str) -> Checkpoint | None:
    why = _BEFORE.get(type(event))
    if why is not None:
        return None if _goes_on(before, event) else Checkpoint(before.seq, why, at)
    if isinstance(event, ev.RunRested):
        return Checkpoint(before.seq + 1, "rest", at)
    return Checkpoint(before.seq + 1, "every", at) if (before.seq + 1) % EVERY == 0 else None


def _goes_on(before: SessionState, event: ev.AnyEvent) -> bool:
    """Whether nothing lies between this and another of its kind, or whether there is no effect to go back before."""
    if isinstance(event, ev.ToolIntended):
        return event.effect == "pure" or any(call.intent == before.seq - 1 for call in before.calls.values())
    return any(request.seq == before.seq - 1 for request in pending(before))
