"""The tool by which an agent says that its customer asks for a person."""

from __future__ import annotations

from typing import Any

from agentstate.engine.wanted import ASK_FOR_PERSON
from sessions.tools.registry import Arguments, ToolContext, tool


@tool(
    name=ASK_FOR_PERSON,
    version=1,
    description=(
        "Call a colleague when the customer asks for a person, or when you cannot help. Say in `why` what it is about."
        " Go on helping until one comes, and promise no time."
    ),
    effect="pure",
    arguments={
        "type": "object",
        "required": ["why"],
        "properties": {"why": {"type": "string", "minLength": 1, "maxLength": 200}},
        "additionalProperties": False,
    },
    preview=lambda arguments, state: f"Ask for a colleague: {arguments.get('why')}",
)
def ask_for_person(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """Nothing but an answer: that the call returned is what puts the session into the queue."""
    return {"asked": True, "told": "A colleague has been asked for. Nobody knows how soon one is free."}
