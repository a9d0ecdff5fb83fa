"""The tool by which an agent says what it must keep in mind: calling it pins the call, with what it says.

The pin itself is set by a rule of the agent's memory (`engine.memory.importance`), in the same commit as the call.
"""

from __future__ import annotations

from sessions.tools.registry import Arguments, ToolContext, tool

MOST_WORDS = 500  # characters


@tool(
    name="remember",
    version=1,
    description=(
        "Keep in mind, for the whole conversation, what the customer wants or has set as a limit. One thing a call."
    ),
    effect="pure",
    arguments={
        "type": "object",
        "required": ["what"],
        "properties": {"what": {"type": "string", "minLength": 1, "maxLength": MOST_WORDS}},
        "additionalProperties": False,
    },
)
def remember(arguments: Arguments, context: ToolContext) -> dict[str, bool]:
    """There is nothing to do: what is to be remembered stands in the call."""
    return {"kept": True}
