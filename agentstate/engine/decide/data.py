"""Data messages: whoever may change the state puts values beside it, which plans, tools and the agent read."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.conversation import AddData
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.handlers import command_handler
from agentstate.engine.scratchpad import messages
from agentstate.engine.state.rounds import MAX_INSTANCES, board_of, boards, private_schemas
from agentstate.engine.state.session import SessionState
from agentstate.errors import Refused


class TooManyContexts(Refused):
    """One session holds so many instances, not more."""

    code = "too_many_instances"


@command_handler(AddData)
def added(command: AddData, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The message, if the object that it makes follows its schema and there is room. An instance that is not there yet
    begins with it, as one of the session's customer. Raises BadMessage, BadSchema, BreaksSchema, TooMuchData.
    """
    must_live(state)
    message = messages.Data(command.data, command.of, command.schema, command.instance)
    messages.read(messages.write(message))
    plans = state.plans
    if command.instance and command.instance not in plans.instances and len(plans.instances) >= MAX_INSTANCES:
        raise TooManyContexts(f"at most {MAX_INSTANCES}", field="_instance")
    board = board_of(plans, command.instance)
    after = messages.judged(board.get(command.of), message)
    messages.must_have_room(boards(plans), board, command.of, after)
    if command.schema is not None:
        messages.must_keep_few(messages.with_schema(private_schemas(plans), command.of, command.schema))
    return [ev.DataAdded(command.of, command.data, command.by, command.schema, command.instance)]
