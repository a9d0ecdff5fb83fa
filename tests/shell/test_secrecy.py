"""No word of a conversation lies anywhere in clear: not in a column, in Valkey or on its way through it, in a log, in a
page's session row, on an error page.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from types import SimpleNamespace
from uuid import UUID, uuid4

import msgspec
import pytest
import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.sessions.models import Session as BrowserSession
from django.db import connection

from agentstate.engine import events as ev
from audit import ledger
from sessions import tasks
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.memory import commands as memory
from sessions.privacy import commands as erasure
from sessions.runtime import execution
from sessions.tools import registry as tools
from sessions.versions import commands as versions
from tests import cast, places
from tests.places import traces
from tests.shell.bank_world import opened, say
from tests.shell.plain_columns import CLEAR
from tests.shell.test_pages_decisions import card, form_of

pytestmark = pytest.mark.django_db(transaction=True)

SAID, TOPIC, REASON, ENDED = "Zebrafinch", "Quokkaburra", "Wombatlike", "Numbatesque"
PINNED, NAMED, HELD, ALIAS = "Echidnaesque", "Cassowaryish", "Bandicootian", "thread-platypus-17"
WORDS = (SAID, TOPIC, REASON, ENDED, PINNED, NAMED, HELD, ALIAS, "900.00", "from savings", "C-1001")


Column = tuple[str, str]


def text_columns() -> dict[Column, str]:
    """Every column of every table and view of every schema that is not PostgreSQL's own, as text."""
    return places.columns(settings.STACK)


def everything_stored() -> dict[Column, str]:
    """Every column, and what browser sessions hold, which is deflated in its column."""
    signed_in = [repr(row.get_decoded()) for row in BrowserSession.objects.all()]
    return text_columns() | {("browser sessions", "decoded"): "\n".join(signed_in)}


def in_valkey() -> str:
    """Every key of every database, with its value: caches, throttles, the broker's messages."""
    return "\n".join(places.in_valkey(settings.STACK.cache_url))


@contextmanager
def traffic() -> Iterator[list[str]]:
    """Whatever passes through Valkey meanwhile, also what is published and kept by nobody: the channel layer's."""
    seen: list[str] = []
    end = str(uuid4())
    listening = Event()

    def listen() -> None:
        with redis.Redis.from_url(settings.STACK.cache_url) as client, client.monitor() as monitor:
            listening.set()
            for command in monitor.listen():
                seen.append(command["command"])
                if end in command["command"]:
                    return

    thread = Thread(target=listen)
    thread.start()
    assert listening.wait(10)
    yield seen
    with redis.Redis.from_url(settings.STACK.cache_url) as client:
        client.echo(end)
    thread.join(10)


def in_log_files() -> str:
    """What the servers of this test wrote, PostgreSQL's own log among it."""
    files = [path for path in (settings.STATE_DIR / "log").iterdir() if path.is_file()]
    assert files
    return "\n".join(path.read_text(errors="replace") for path in files)


def a_conversation(browser) -> UUID:
    """A customer's words, a decision by a page with a reason, a lookup, an end: all with words to look for."""
    session = opened("C-1001", topic=TOPIC, alias=ALIAS)
    say(session, f"My dog is called {SAID}. Move $900.00 from savings to checking.")
    say(session, "Yes.")
    line = next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)
    page = f"/decisions/{line.id}/"
    form = form_of(card(browser, line.id))
    done = browser.post(page, {**form, "decision": "approve", "reason": REASON, "key": "k1"})
    assert done.status_code == 302
    tasks.advance_ready()
    memory.pin(cast.alice(), session, 1, why=PINNED)
    versions.name_checkpoint(cast.alice(), session, NAMED)
    conversation_commands.end(cast.cleo(), session, ENDED, key="e1")
    held = erasure.set_hold(cast.petra(), session=session, reason=HELD)
    erasure.lift_hold(cast.petra(), held.pk)
    return session


def test_the_words_of_a_conversation_are_stored_nowhere_in_clear(bank, caplog):
    caplog.set_level(logging.INFO)
    with traffic() as passed:
        a_conversation(cast.browser(cast.alice()))
        async_to_sync(get_channel_layer().group_send)("anybody", {"type": "seen"})
    for place, text in everything_stored().items():
        assert traces(text, *WORDS) == [], place
    assert "advance_ready" in in_valkey()  # the hints to workers lie there, without an argument
    assert any("PUBLISH" in each for each in passed)
    for place, text in {
        "Valkey": in_valkey(), "on its way": "\n".join(passed), "log": caplog.text, "log files": in_log_files(),
    }.items():  # fmt: skip
        assert traces(text, *WORDS) == [], place


def test_the_search_for_words_finds_each_spelling():
    for at in range(3):
        assert traces(b64encode(bytes(at) + f"...{SAID}...".encode()).decode(), SAID) == [SAID]
    assert traces(f"\\x{SAID.encode().hex()}", SAID, TOPIC) == [SAID]


def test_what_stands_in_clear_stands_in_declared_columns_only(bank):
    a_conversation(cast.browser(cast.alice()))
    declared = {(table, column) for table, columns in CLEAR.items() for column in columns}
    chosen = ("alice", "retail")
    found = {place for place, text in text_columns().items() if traces(text, *chosen)}
    assert found
    assert found - declared == set()


def test_every_column_of_plain_text_is_declared_and_every_declared_one_exists():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND data_type IN ('text', 'character varying', 'character', 'json', 'jsonb', 'ARRAY')"
            " AND table_name ~ '^(people|audit|agent_sessions)_'"
        )
        found = set(cursor.fetchall())
    assert found == {(table, column) for table, columns in CLEAR.items() for column in columns}


def test_an_error_page_says_no_word_of_the_session_it_is_about(bank, monkeypatch):
    browser = cast.browser(cast.alice(), raise_request_exception=False)
    session = a_conversation(browser)
    bearer = cast.bearer(cast.alice())
    answers = [
        browser.get(f"/sessions/{session}/nowhere/"),
        browser.post(f"/api/v1/sessions/{session}/messages", "{", "application/json", headers=bearer),
        browser.post(f"/api/v1/sessions/{session}/messages", {"text": "hm"}, "application/json", headers=bearer),
        cast.browser(cast.charlie()).get(f"/sessions/{session}/"),
    ]

    def chokes(*_args, **_wishes):
        raise ValueError(f"cannot read {SAID!r} of {session}: {REASON}")

    monkeypatch.setattr(states, "load", chokes)
    said = {"text": "hm"}, "application/json"
    answers.append(browser.get(f"/sessions/{session}/"))
    answers.append(browser.post(f"/api/v1/sessions/{session}/messages", *said, headers=cast.bearer(cast.cleo())))
    assert {answer.status_code for answer in answers} >= {404, 400, 500}
    for answer in answers:
        assert answer.status_code >= 400
        assert traces(answer.content.decode(), *WORDS) == []


def test_a_stored_receipt_does_not_let_its_reader_try_out_what_was_said():
    """The digest that tells a repeated command from another one is no plain hash: short sentences can be guessed."""
    session = opened()
    conversation_commands.say(cast.cleo(), session, "yes", key="k")
    guess = ev.digest("Say", {"role": "customer", "text": "yes", "by": "customer"})
    (stored,) = ledger.run("SELECT digest FROM audit_receipt WHERE log = %(log)s", {"log": session})[0]
    assert bytes(stored).hex() != guess
    assert conversation_commands.say(cast.cleo(), session, "yes", key="k").repeated
    with pytest.raises(ledger.SameKeyOtherCommand):
        conversation_commands.say(cast.cleo(), session, "no", key="k")


def test_an_error_of_a_tool_or_model_takes_no_word_into_the_log(bank, caplog, monkeypatch):
    """Errors quote what they choked on."""

    def chokes(*_args, **_wishes):
        raise ValueError(f"cannot read {SAID!r}")

    found = tools.find
    broken = msgspec.structs.replace(found("load_customer"), run=chokes)
    monkeypatch.setattr(execution.tools, "find", lambda name: broken if name == broken.name else found(name))
    say(opened(), "What is my balance?")
    model = SimpleNamespace(name="choking", answer=chokes)
    monkeypatch.setattr(execution.model_choice, "model_for", lambda _agent: model)
    say(opened(), "What is my balance?")
    assert "tool load_customer broke: ValueError" in caplog.text
    assert "model choking broke: ValueError" in caplog.text
    assert traces(caplog.text, SAID) == []
