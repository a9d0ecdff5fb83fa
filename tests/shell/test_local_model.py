"""A real language model, small and local, drives a session.

It says nothing clever and calls no tools; what is tested is that a real endpoint streams through the product from end
to end. Skipped, loudly, where `requirements/locked/local-model.txt` is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sessions.core import partial_answers
from tests.local_model import served
from tests.shell.bank_world import events, kinds, opened, say, state
from tests.shell.looping_world import at_endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
TOKENS = 8  # that it may say at most: it is slow where others compute, too


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a server with the model."""
    with served(context=4_096, tokens=TOKENS) as address:
        yield address


def test_a_real_model_speaks_with_a_customer_until_its_tokens_are_used_up(settings, bank, endpoint, monkeypatch):
    fragments: list[dict[str, str]] = []
    monkeypatch.setattr(partial_answers.announcements, "tell", lambda group, message: fragments.append(message))
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
    texts = [partial_answers.opened(message) or "" for message in fragments]
    assert texts[-1] == ""
    assert all(said.startswith(text.strip()[: len(said)]) for text in texts)
