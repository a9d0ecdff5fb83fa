"""What a trigger may do in a session: what anybody outside may, under its own name and with its chain on record."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide import charts, conversation, goals
from agentstate.engine.decide.commands.automation import Signal, Triggered
from agentstate.engine.decide.commands.plans import ChangeGoals, SetGoals
from agentstate.engine.decide.commands.session import Open, Say
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.handlers import command_handler
from agentstate.engine.state.session import SessionState
from agentstate.errors import Refused


class ForkHearsNoTrigger(Refused):
    """A trigger does nothing in a fork: what it would do belongs to the parent."""

    code = "fork_hears_no_trigger"


@command_handler(Triggered)
def triggered(command: Triggered, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The entry that says which trigger acts, with what it acts. Raises SessionOver, ForkHearsNoTrigger and what its
    act raises.
    """
    by = f"trigger:{command.trigger}"
    fired = ev.TriggerFired(
        command.trigger,
        command.name,
        command.version,
        command.firing,
        command.source,
        command.chain,
        command.run,
    )
    if isinstance(command.then, Open):
        told: list[ev.AnyEvent] = [ev.MessageAdded("note", command.note, by)] if command.note else []
        return [*conversation.opened(command.then, state, context), fired, *told]
    conversation.must_live(state)
    if state.versions.is_draft:
        raise ForkHearsNoTrigger()
    if isinstance(command.then, Signal):
        return [fired, *charts.signalled(command.then, state, context)]
    reopened: list[ev.AnyEvent] = [ev.SessionReopened(by)] if state.expired_at else []
    said: list[ev.AnyEvent] = []
    if command.note:
        said = [
            each for each in conversation.said(Say("note", command.note, by), state, context) if each not in reopened
        ]
    return [*reopened, fired, *said, *(_set_to_work(command, by, state, context) if command.run else ())]


def _set_to_work(command: Triggered, by: str, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The task, and the run. One that is under way hears of it; while a person has the session, or it is paused, the
    run begins once the agent may work again.
    """
    task = _task(command, by, state, context) if command.goal else []
    if state.run or state.taken_by or state.paused_at:
        return task
    return [*task, ev.RunStarted(context.new_id(), "trigger")]


def _task(command: Triggered, by: str, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The goal of the session; or one task more of the goal that it has. Raises BadGoal when there are too many."""
    version, tree = state.goals.version, state.goals.tree
    fields = {"id": f"firing-{command.firing}", "title": command.goal}
    if tree is None:
        return goals.goals_set(SetGoals(fields, by, version), state, context)
    return goals.goals_changed(ChangeGoals("add", tree.id, by, version, fields), state, context)
