"""The tool by which an agent reminds itself, or follows up when the customer does not come back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from agentstate.errors import Refused
from sessions.tools.registry import Arguments, ToolContext, ToolFailed, tool

MOST_WORDS = 1_000  # characters
MOST_SECONDS = 90 * 24 * 3600


@tool(
    name="set_timer",
    version=1,
    description=(
        "Be reminded in this conversation after so many seconds (what: remind), or only if the customer has said"
        " nothing until then (what: follow_up). Say in `text` what to do then."
    ),
    effect="idempotent",
    arguments={
        "type": "object",
        "required": ["what", "after", "text"],
        "properties": {
            "what": {"enum": ["remind", "follow_up"]},
            "after": {"type": "integer", "minimum": 1, "maximum": MOST_SECONDS},
            "text": {"type": "string", "minLength": 1, "maxLength": MOST_WORDS},
        },
        "additionalProperties": False,
    },
    preview=lambda arguments, state: f"Be reminded in {arguments.get('after')} seconds: {arguments.get('text')}",
)
def set_timer(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """The timer is set under the call's own key: however often the call is tried, it is one timer."""
    from sessions.core.committed import Author
    from sessions.timers import commands  # the commands know the tools

    author = Author("agent:set_timer", context.key)
    try:
        commands.timed(
            UUID(context.session),
            arguments["what"],
            author,
            "agent",
            text=arguments["text"],
            after=arguments["after"],
        )
    except Refused as refusal:
        raise ToolFailed(str(refusal)) from None
    return {"set": True, "after": arguments["after"]}
