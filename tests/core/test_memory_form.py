"""The form in which models are shown conversations is a promise: stored histories give the same bytes for ever."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentstate.engine import events as ev
from agentstate.engine import model_request
from agentstate.engine.memory.context import FORM, FORMS
from agentstate.engine.memory.shown import request_bytes
from agentstate.engine.memory.tokens import ESTIMATE
from agentstate.engine.state.evolution import fold
from sessions.agents.chat_request import chat_messages
from sessions.agents.definition import from_bytes

VECTORS = Path(__file__).parent.parent / "vectors"
_encoder = msgspec.json.Encoder(decimal_format="number")


def stored() -> dict[str, Any]:
    return json.loads((VECTORS / "context-1.json").read_bytes(), parse_float=Decimal)


def chat_of(form: str) -> list[dict[str, Any]]:
    """What a chat model was told of the stored request; the request itself is the same in both forms."""
    return stored()["chat"] if form == "1" else json.loads((VECTORS / f"context-{form}.json").read_bytes())["chat"]


@pytest.mark.parametrize("form", FORMS)
def test_a_stored_history_gives_the_bytes_that_a_model_was_given(form: str):
    vector = stored()
    state = fold((ev.decode(_encoder.encode(event)), at) for event, at in vector["events"])
    request = model_request.build(from_bytes(vector["definition"].encode()), vector["model"], state)
    assert request_bytes(request).decode() == vector["request"]
    assert chat_messages(request, form) == chat_of(form)
    assert FORMS[-1] == FORM


def test_a_request_has_the_same_bytes_made_at_once_and_message_by_message():
    state = fold((ev.decode(_encoder.encode(event)), at) for event, at in stored()["events"])
    request = model_request.build(from_bytes(stored()["definition"].encode()), stored()["model"], state)
    at_once = msgspec.json.Encoder(decimal_format="number", order="sorted").encode([request])
    assert at_once == request_bytes(request) == request_bytes(request)


def test_the_stored_history_has_all_that_the_form_is_about():
    request = stored()["request"]
    for part in ("Summary of entries", "Never more than", '\\"status\\":\\"waiting\\"', "Be brief."):
        assert part in request
    assert "9137" not in request


def test_the_entries_that_were_shown_are_read_from_their_steps_and_from_older_lists_alike():
    parts = ("1", "d", "estimate/1", 100, 1_000, 1, 2, 3, 4, 5)
    of_steps, of_list = ev.Shown(*parts, (), (7,), (8, 1, 3)), ev.Shown(*parts, (8, 9, 12), (7,))
    assert of_steps.entries == of_list.entries == (8, 9, 12)
    state = fold((ev.decode(_encoder.encode(event)), at) for event, at in stored()["events"])
    request = model_request.build(from_bytes(stored()["definition"].encode()), stored()["model"], state)
    assert model_request.shown(request, "d", state, ESTIMATE, 100).entries == tuple(item.seq for item in state.items)
