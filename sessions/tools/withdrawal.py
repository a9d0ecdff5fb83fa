"""The tool by which an agent withdraws a call that it has proposed."""

from __future__ import annotations

from typing import Any

from agentstate.engine.decide.withdrawals import WITHDRAW_CALL
from sessions.tools.registry import Arguments, ToolContext, tool


@tool(
    name=WITHDRAW_CALL,
    version=1,
    description=(
        "Withdraw your own calls of one tool that wait for a colleague or have not begun, when the customer does not"
        " want them any more. Say in `why` what the customer said. The result of each withdrawn call says so. A call"
        " that has begun goes on."
    ),
    effect="pure",
    arguments={
        "type": "object",
        "required": ["tool", "why"],
        "properties": {
            "tool": {"type": "string", "minLength": 1, "maxLength": 100},
            "why": {"type": "string", "minLength": 1, "maxLength": 200},
        },
        "additionalProperties": False,
    },
    preview=lambda arguments, state: f"Withdraw {arguments.get('tool')}: {arguments.get('why')}",
)
def withdraw_call(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """Nothing but an answer: that the call returned is what withdraws."""
    return {"asked": True, "told": "What had not begun is withdrawn. The result of each call says whether it was."}
