"""The form in which models are shown conversations is a promise: stored histories give the same bytes for ever."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.memory.context import FORM
from agentstate.engine.memory.shown import request_bytes
from agentstate.engine.state import fold
from sessions.agents import context
from sessions.agents.chat_request import chat_messages
from sessions.agents.definition import from_bytes

VECTOR = Path(__file__).parent.parent / "vectors" / f"context-{FORM}.json"
_encoder = msgspec.json.Encoder(decimal_format="number")


def stored() -> dict[str, Any]:
    return json.loads(VECTOR.read_bytes(), parse_float=Decimal)


def test_a_stored_history_gives_the_bytes_that_a_model_was_given():
    vector = stored()
    state = fold((ev.decode(_encoder.encode(event)), at) for event, at in vector["events"])
    request = context.rebuilt(from_bytes(vector["definition"].encode()), vector["model"], state)
    assert request_bytes(request).decode() == vector["request"]
    assert chat_messages(request) == vector["chat"]


def test_the_stored_history_has_all_that_the_form_is_about():
    request = stored()["request"]
    for part in ("Summary of entries", "Never more than", '\\"status\\":\\"waiting\\"', "Be brief."):
        assert part in request
    assert "9137" not in request
