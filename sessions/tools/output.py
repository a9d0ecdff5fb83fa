"""The tool by which an agent gives its output, where it has declared a schema of one.

There is nothing to do: the output stands in the call, and an output path keeps it in the scratchpad. The schema is the
agent's, and is checked where the call is gated; what breaks it goes back to the model with what is wrong.
"""

from __future__ import annotations

from agentstate.engine.looping.settings import ANSWER
from sessions.tools.registry import Arguments, ToolContext, tool

PATH = "state.output"  # where an output goes, unless the agent says otherwise


@tool(
    name=ANSWER,
    version=1,
    description="Give the result of your work. Call it once, when all else is done.",
    effect="pure",
    arguments={"type": "object"},
)
def answer(arguments: Arguments, context: ToolContext) -> Arguments:
    """What was given."""
    return arguments
