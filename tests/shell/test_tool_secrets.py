"""What must be nowhere is nowhere: a secret that calls are made with, and what a tool masks of its result. Looked for
in a dump of the database, in what was logged, in Valkey, in what people and models are shown.
"""

from __future__ import annotations

import json

import pytest
from django.core.cache import cache
from django.db import connections
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine.model import ProposedCall
from sessions.agents import registry as agents
from sessions.agents.registry import Agent
from sessions.tools import registry as tools
from sessions.tools.http import calls, description
from sessions.tools.masks import MARK, masked
from tests import cast
from tests.shell import hostile_http, side_by_side_world
from tests.shell.bank_world import events, opened, say, state
from tests.shell.hostile_http import Hostile, answer

SECRET, PERSONAL = "marker-4c1d77ab90", "marker-b81e02ffd3"
CARD = {
    "name": "read_card",
    "version": 1,
    "description": "Read a card.",
    "effect": "pure",
    "arguments": {"type": "object", "properties": {}, "additionalProperties": False},
    "result": {"type": "object", "properties": {"cards": {"type": "array"}}, "required": ["cards"]},
    "request": {"url": "http://127.0.0.1:{port}/card", "auth": {"kind": "bearer", "secret": "card_token"}},
    "masked": ["cards.number"],
}


@pytest.fixture
def card(settings, monkeypatch):
    """A tool that is called with a secret and gives a card's number, and an agent that may call it."""
    settings.OUTSIDE_SECRETS, settings.OUTSIDE_NETWORKS = "environment", ["127.0.0.1"]
    monkeypatch.setenv("TOOL_SECRET_CARD_TOKEN", SECRET)
    server = Hostile()
    made = calls.tool_of(description.load(json.dumps(CARD).replace("{port}", str(server.port)).encode()))
    monkeypatch.setitem(tools._registry, "read_card", made)
    if "cards" not in agents.names():
        agents.register(Agent("cards", "Read cards.", ("read_card",), "bank", {"read_card": "state.card"},
                              script=side_by_side_world.model))  # fmt: skip
    yield server
    server.stop()


def everything_stored() -> str:
    """All rows of all tables as text, bytes in hex and as they are, and all of Valkey."""
    found = []
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            found += [row for (row,) in cursor.fetchall()]
    client = cache._cache.get_client()  # type: ignore[attr-defined]
    found += [repr(client.dump(key)) for key in client.keys("*")]
    return "\n".join(found)


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_secret_and_what_is_masked_are_nowhere(card, caplog):
    hostile_http.WHOLE["/card"] = answer(json.dumps({"cards": [{"number": PERSONAL, "last4": "9931"}]}).encode())
    session = opened(agent="cards")
    side_by_side_world.model.asked.clear()
    side_by_side_world.model.answers = [(ProposedCall("a", "read_card", {}),)]
    say(session, "My card?")
    assert SECRET.encode() in card.seen[-1]
    assert events(session, "tool.returned")[0]["result"] == {"cards": [{"number": MARK, "last4": "9931"}]}
    page = cast.browser(cast.alice()).get(f"/sessions/{session}/").content.decode()
    shown = repr(state(session)) + repr(side_by_side_world.model.asked) + page + caplog.text + everything_stored()
    assert "9931" in page + repr(state(session))
    for marker in (SECRET, PERSONAL):
        assert marker not in shown
        assert marker.encode().hex() not in shown


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_call_that_fails_repeats_neither(card, caplog):
    for body in ({"cards": SECRET}, {"wrong": PERSONAL}):
        hostile_http.WHOLE["/card"] = answer(json.dumps(body).encode())
        session = opened(agent="cards")
        side_by_side_world.model.answers = [(ProposedCall("a", "read_card", {}),)]
        say(session, "My card?")
        assert {call.status.value for call in state(session).calls.values()} == {"failed"}
        shown = repr(state(session)) + caplog.text + everything_stored() + repr(events(session, "tool.failed"))
        assert SECRET not in shown
        assert PERSONAL not in shown


JSON = st.recursive(
    st.integers(0, 9),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from("abc"), each),
    max_leaves=12,
)


@given(JSON, st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
def test_at_a_masked_path_nothing_but_the_mark_is_left(value, parts):
    assert set(_at(masked(value, (".".join(parts),)), parts)) <= {MARK}


def _at(value, parts):
    if not parts:
        return [value]
    if isinstance(value, list):
        return [found for item in value for found in _at(item, parts)]
    return _at(value[parts[0]], parts[1:]) if isinstance(value, dict) and parts[0] in value else []
