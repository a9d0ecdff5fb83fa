"""The tool `say`, which an agent's words are judged as: what rules need to know of it. No model is offered it."""

from __future__ import annotations

from typing import Any

from agentstate.engine.decide.context import CommandContext, ToolFacts
from agentstate.engine.speech import MAX_TEXT, SAY
from agentstate.errors import Invalid

MAX_PREVIEW = 160  # characters; the arguments hold all of it


def tool_named(name: str, context: CommandContext) -> ToolFacts | None:
    """Returns a tool of the agent, or `say`; None: there is none of that name."""
    return FACTS if name == SAY else context.tools.get(name)


def _check(arguments: object) -> None:
    """Raises Invalid for what a person cannot put in the place of the words."""
    text = arguments.get("text") if isinstance(arguments, dict) and arguments.keys() == {"text"} else None
    if not isinstance(text, str) or not text.strip():
        raise Invalid("want the words", field="arguments.text")
    if len(text) > MAX_TEXT:
        raise Invalid(f"got {len(text)} characters, at most {MAX_TEXT}", field="arguments.text")


def _preview(arguments: dict[str, Any], state: dict[str, Any]) -> str:
    text = " ".join(arguments["text"].split())  # on one line
    shown = text if len(text) <= MAX_PREVIEW else f"{text[:MAX_PREVIEW]} ..."
    return f"The agent wants to say: {shown}"


_SCHEMA = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}},
    "additionalProperties": False,
}
FACTS = ToolFacts(SAY, 1, "pure", 1, 1.0, _check, _preview, schema=_SCHEMA)
