"""What a model is told of data messages: their objects without what is private, as far as there is room.

The newest kinds come first into a room of `most` characters. What does not fit is named with its size and its first
keys, so that the model knows that it is there and a plan can hand it to a tool by reference.
"""

from __future__ import annotations

from typing import Any

from agentstate.engine.memory.room import left_out
from agentstate.engine.memory.shown import json_text
from agentstate.engine.scratchpad import messages
from agentstate.engine.scratchpad.messages import Board, PrivateSchemas


def told(board: Board, brought: PrivateSchemas, most: int) -> dict[str, Any]:
    """The objects by kind, in at most `most` characters of JSON in all but for what is only named."""
    shown = messages.shown(board, brought)
    kept: dict[str, Any] = {}
    for kind in reversed(list(shown)):
        text = json_text(shown[kind])
        fits = len(text) <= most
        most -= len(text) if fits else 0
        kept[kind] = shown[kind] if fits else left_out(shown[kind], len(text))
    return {kind: kept[kind] for kind in shown}
