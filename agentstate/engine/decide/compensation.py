"""Undoing what was done outside before a rollback: the newest first, one after the other, each call gated as any."""

from __future__ import annotations

from collections.abc import Iterable

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.calls import Compensate
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.gates import gate
from agentstate.engine.decide.pausing import must_not_be_paused
from agentstate.engine.decide.refusals import ForkMaySayNothing
from agentstate.engine.decide.versions import bounded
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState
from agentstate.errors import NotFound, Refused

MAX_REASON = 500  # characters
MAX_STEPS = 20  # in one order


class NothingToUndo(Refused):
    """Nothing of what was named can be undone by a call: it was undone, did not happen, or its tool declares none."""

    code = "nothing_to_undo"


class TooMuchToUndo(Refused):
    """So much is not undone in one order."""

    code = "too_much_to_undo"
    remedy = f"Name at most {MAX_STEPS} calls."


def undoable(lasting: Iterable[ev.Lasting], state: SessionState) -> list[ev.Lasting]:
    """The effects that a call can undo and that no order has named yet, the newest first."""
    found = [each for each in lasting if each.undo is not None and each.call not in state.versions.undone_calls]
    return [each for each in reversed(found) if each.outcome == "done"]


@command_handler(Compensate)
def compensated(command: Compensate, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Raises SessionOver, SessionPaused, NotFound, NothingToUndo, TooMuchToUndo, Invalid."""
    must_live(state)
    must_not_be_paused(state)
    if state.versions.is_draft:
        raise ForkMaySayNothing()
    reason = bounded(command.reason, "reason", MAX_REASON)
    if command.rollback not in [each.seq for each in state.versions.rollbacks]:
        raise NotFound(f"entry {command.rollback} is no rollback of late")
    wanted = undoable(command.lasting, state)
    if command.calls:
        wanted = [each for each in wanted if each.call in command.calls]
    if not wanted or set(command.calls) - {each.call for each in wanted}:
        raise NothingToUndo()
    if len(wanted) > MAX_STEPS:
        raise TooMuchToUndo(f"got {len(wanted)}")
    steps = tuple(ev.Undoing(context.new_id(), each.undo_tool, each.undo or {}, each.seq, each.call) for each in wanted)
    ordered = ev.CompensationOrdered(command.rollback, steps, command.by, reason)
    then = evolve(state, ordered, stamp(context.at))
    return [ordered, *(gate(then, then.calls[step.id], context) for step in steps)]
