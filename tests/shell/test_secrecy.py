"""No word of a conversation lies anywhere in clear: not in a column, in Valkey, in a log, in a page's session row."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import msgspec
import psycopg
import pytest
import redis
from django.conf import settings
from django.contrib.sessions.models import Session as BrowserSession

from agentstate.engine import events as ev
from audit import ledger
from sessions import commands, queries, tasks
from sessions.runtime import execute
from sessions.tools import registry as tools
from tests import cast
from tests.shell.bank_world import opened, say

pytestmark = pytest.mark.django_db(transaction=True)

SAID, TOPIC, REASON, ENDED = "Zebrafinch", "Quokkaburra", "Wombatlike", "Numbatesque"


def everything_stored() -> dict[str, str]:
    """Every table as text, by name, read as a superuser."""
    stack = settings.STACK
    with psycopg.connect(stack.dsn(stack.superuser, stack.database), autocommit=True) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        signed_in = [repr(row.get_decoded()) for row in BrowserSession.objects.all()]  # deflated in its row
        return {"browser sessions": "\n".join(signed_in)} | {
            name: "\n".join(row[0] for row in connection.execute(f'SELECT t::text FROM "{name}" t').fetchall())
            for (name,) in names
        }


def in_valkey() -> str:
    """Every key with its value: caches, the broker's messages, the channel layer's."""
    found = []
    broker = settings.STACK.broker_url.replace("redis+socket://", "unix://").replace("virtual_host=", "db=")
    for url in {settings.STACK.cache_url, settings.STACK.channel_url, broker}:
        with redis.Redis.from_url(url) as client:
            for key in client.scan_iter():
                read = {b"string": client.get, b"hash": client.hgetall, b"zset": client.zscan, b"set": client.smembers}
                value = read.get(client.type(key), lambda key, client=client: client.lrange(key, 0, -1))(key)
                found.append(f"{key!r} {value!r}")
    return "\n".join(found)


def traces(text: str, *words: str) -> list[str]:
    """The words that stand in `text`, as they are or in hexadecimal."""
    lower = text.lower()
    return [word for word in words if word.lower() in lower or word.encode().hex() in lower]


def a_conversation(browser) -> None:
    """A customer's words, a decision by a page with a reason, a lookup, an end: all with words to look for."""
    session = opened("C-1001", topic=TOPIC)
    say(session, f"My dog is called {SAID}. Move $900.00 from savings to checking.")
    say(session, "Yes.")
    line = next(line for line in queries.requests(cast.alice()) if line.session == session)
    page = f"/decisions/{line.id}/"
    assert browser.get(page).status_code == 200
    done = browser.post(page, {"decision": "approve", "reason": REASON, "key": "k1"})
    assert done.status_code == 302
    tasks.advance_ready()
    commands.end(cast.cleo(), session, ENDED, key="e1")


def test_the_words_of_a_conversation_are_stored_nowhere_in_clear(bank, caplog):
    caplog.set_level(logging.INFO)
    a_conversation(cast.browser(cast.alice()))
    words = (SAID, TOPIC, REASON, ENDED, "900.00", "from savings", "C-1001")
    for table, text in everything_stored().items():
        assert traces(text, *words) == [], table
    assert "advance_ready" in in_valkey()  # the hints to workers lie there, without an argument
    assert traces(in_valkey(), *words) == []
    assert traces(caplog.text, *words) == []


def test_a_stored_receipt_does_not_let_its_reader_try_out_what_was_said():
    """The digest that tells a repeated command from another one is no plain hash: short sentences can be guessed."""
    session = opened()
    commands.say(cast.cleo(), session, "yes", key="k")
    guess = ev.digest("Say", {"role": "customer", "text": "yes", "by": "customer"})
    (stored,) = ledger.run("SELECT digest FROM audit_receipt WHERE log = %(log)s", {"log": session})[0]
    assert bytes(stored).hex() != guess
    assert commands.say(cast.cleo(), session, "yes", key="k").repeated
    with pytest.raises(ledger.SameKeyOtherCommand):
        commands.say(cast.cleo(), session, "no", key="k")


def test_an_error_of_a_tool_or_model_takes_no_word_into_the_log(bank, caplog, monkeypatch):
    """Errors quote what they choked on."""

    def chokes(*_args, **_wishes):
        raise ValueError(f"cannot read {SAID!r}")

    found = tools.find
    broken = msgspec.structs.replace(found("load_customer"), run=chokes)
    monkeypatch.setattr(execute.tools, "find", lambda name: broken if name == broken.name else found(name))
    say(opened(), "What is my balance?")
    model = SimpleNamespace(name="choking", answer=chokes)
    monkeypatch.setattr(execute.choice, "model_for", lambda _agent: model)
    say(opened(), "What is my balance?")
    assert "tool load_customer broke: ValueError" in caplog.text
    assert "model choking broke: ValueError" in caplog.text
    assert traces(caplog.text, SAID) == []
