"""Goals: taken apart into tasks by a person, from a template, or by a model with a call of the tool `goals`."""

from __future__ import annotations

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.plans import ChangeGoals, SetGoals
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.handlers import command_handler
from agentstate.engine.plan import goals
from agentstate.engine.plan.goals import Goal
from agentstate.engine.state.session import Call, SessionState
from agentstate.errors import Invalid, NotFound, Refused


class GoalsChanged(Refused):
    """The goals have changed since you saw them."""

    code = "goals_changed"
    remedy = "Look at them again."


@command_handler(SetGoals)
def goals_set(command: SetGoals, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Another tree. Raises BadGoal naming task and rule, GoalsChanged."""
    _must_be_seen(command, state)
    if command.inputs is None:
        tree, how = goals.read(command.tree), command.how
    else:
        tree, how = goals.from_template(command.tree, command.inputs), "template"
    return [ev.GoalsSet(command.version + 1, _notation(tree), command.by, how)]


@command_handler(ChangeGoals)
def goals_changed(command: ChangeGoals, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The tree with one task more, another or less. Raises BadGoal naming task and rule, GoalsChanged, NotFound."""
    _must_be_seen(command, state)
    tree = state.goals.tree
    if tree is None:
        raise NotFound("there is no goal yet: set one first")
    match command.op:
        case "add":
            tree = goals.added(tree, command.task, command.fields)
        case "change":
            tree = goals.changed(tree, command.task, command.fields)
        case "remove":
            tree = goals.removed(tree, command.task)
    return [ev.GoalsSet(command.version + 1, _notation(tree), command.by, "hand")]


def _must_be_seen(command: SetGoals | ChangeGoals, state: SessionState) -> None:
    must_live(state)
    if command.version != state.goals.version:
        raise GoalsChanged(f"it is version {state.goals.version} now, you saw {command.version}")


def of_model(state: SessionState, call: Call, by: str) -> ev.AnyEvent:
    """What becomes of a model's call of the tool `goals`: its arguments are the tree."""
    try:
        tree = goals.read(call.arguments)
    except Invalid as error:
        return ev.CallRefused(call.id, error.code, error.detail[:1000])
    return ev.GoalsSet(state.goals.version + 1, _notation(tree), by, "model", call.id)


def _notation(tree: Goal) -> dict[str, object]:
    found: dict[str, object] = msgspec.to_builtins(tree)
    return found
