"""What the agent is writing reaches colleagues while it writes, sealed on the way, and is no entry."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import connection
from django.test import Client

from agentstate.engine.decide import Ask
from audit import keys
from sessions.agents import registry
from sessions.conversation import commands as conversation_commands
from sessions.core import partial_answers, states
from sessions.core.commit import person_command
from sessions.core.committed import Author
from sessions.core.partial_answers import Dropped, Writing
from sessions.runtime import execution
from tests import cast
from tests.live.chat_server import Endless, Raw, Say, events, stream
from tests.shell.bank_world import kinds, opened, say, state, work
from tests.shell.looping_world import agent
from tests.shell.test_consumers import frames_until, socket_of, watching

pytestmark = pytest.mark.django_db(transaction=True)
db = database_sync_to_async
SECRET = "Your balance is 4,310 dollars."


def looked_at(session: UUID, who) -> None:
    """The page is opened, which the access log records before the socket shows anything."""
    client = Client()
    client.force_login(who)
    assert client.get(f"/sessions/{session}/").status_code == 200


def asked(session: UUID) -> Writing:
    """What is written at an open model request."""
    conversation_commands.say(cast.cleo(), session, "Hello?")
    person_command(session, Ask("step-1", "small", 0, 0, (), "d"), Author("agent:bank"))
    loaded = states.load(session)
    return Writing(loaded.place, "step-1", loaded.head.size)


async def test_a_colleague_sees_what_is_written_and_then_that_it_is_over():
    alice, session = await db(cast.alice)(), await db(opened)()
    await db(looked_at)(session, alice)
    async with socket_of(alice) as page:
        await watching(page, f"session:{session}")
        await watching(page, f"writing:{session}")
        speech = await db(asked)(session)
        await db(speech.hear)(SECRET)
        await db(speech.over)()
        frames = [frame for _ in range(2) for frame in await frames_until(page, "writing")]
    told = [frame for frame in frames if frame["kind"] == "writing"]
    assert [(frame["text"], frame["step"]) for frame in told] == [(SECRET, "step-1"), ("", "step-1")]


async def test_on_the_channel_layer_nothing_is_in_clear():
    session = await db(opened)()
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(partial_answers.group(session), channel)
    speech = await db(asked)(session)
    await db(speech.hear)(SECRET)
    message = await asyncio.wait_for(layer.receive(channel), 5)
    assert SECRET not in json.dumps(message)
    assert SECRET.encode().hex() not in json.dumps(message)
    assert await db(partial_answers.opened)(message) == SECRET


async def test_whoever_may_not_read_is_refused_and_whoever_has_no_live_view_sees_nothing():
    alice, charlie, session = await db(cast.alice)(), await db(cast.charlie)(), await db(opened)()
    async with socket_of(charlie) as page:
        await page.send_json_to({"watch": [f"writing:{session}"]})
        assert (await frames_until(page, "refused"))[-1]["topic"] == f"writing:{session}"
    async with socket_of(alice) as page:
        await watching(page, f"writing:{session}")
        speech = await db(asked)(session)
        await db(speech.hear)(SECRET)
        await db(conversation_commands.end)(alice, session, "enough")
        await watching(page, f"session:{session}")  # what came before this answer did not hold a fragment
        while not await page.receive_nothing(0.3):  # the session's own end may still be told
            assert SECRET not in str(await page.receive_json_from())


def test_no_more_than_ten_fragments_a_second_are_sent(monkeypatch):
    session, sent = opened(), []
    monkeypatch.setattr(partial_answers.announcements, "tell", lambda group, message: sent.append(message))
    speech = asked(session)
    until = time.monotonic() + 0.55
    while time.monotonic() < until:
        speech.hear("word ")
    assert 3 <= len(sent) <= 7


def test_what_is_written_is_bounded_and_an_erased_subject_is_not_shown(monkeypatch):
    session, sent = opened(), []
    monkeypatch.setattr(partial_answers.announcements, "tell", lambda group, message: sent.append(message))
    speech = asked(session)
    speech.hear("x" * 50_000)
    assert partial_answers.opened(sent[0]) == "x" * partial_answers.MOST
    monkeypatch.setattr(partial_answers.keys, "unseal", _erased)
    assert partial_answers.opened(sent[0]) is None


def _erased(*_: object) -> bytes:
    raise keys.Erased("its words were deleted")


def test_an_answer_that_nobody_waits_for_ends_its_request():
    session = opened()
    speech = asked(session)
    speech.hear("One ")
    conversation_commands.end(cast.alice(), session, "enough")
    speech._looked -= partial_answers.LOOK
    with pytest.raises(Dropped):
        speech.hear("two.")


def test_a_stream_is_given_up_when_the_customer_hangs_up(settings, bank):
    session: UUID | None = None
    piece = stream(events(Say("Well, ")))[: -len(b"data: [DONE]\n\n")].split(b"\n\n")[1] + b"\n\n"

    def answer(body):
        commands_thread(lambda: conversation_commands.end(cast.alice(), session, "enough"))
        return Endless(piece, 0.05)

    with agent(settings, answer):
        session = opened()
        began = time.monotonic()
        say(session, "Hello?")
        assert time.monotonic() - began < 10  # the body goes on for 15 s
    assert state(session).ended
    assert "model.answered" not in kinds(session)


def commands_thread(act) -> None:
    def run() -> None:
        time.sleep(0.3)
        act()
        connection.close()

    threading.Thread(target=run, daemon=True).start()


def test_a_stream_that_breaks_off_is_asked_again_and_what_was_said_is_no_entry(settings, bank):
    whole = stream(events(Say("Half of it and the rest.", pieces=("Half of it", " and the rest."))))
    cut = Raw(200, whole[: whole.index(b" and the rest")], (("Content-Type", "text/event-stream"),), lacking=500)
    with agent(settings, [cut, Say("All of it.")]):
        session = opened()
        say(session, "Hello?")
        assert state(session).model_retry_at
        retry_now(session)
        work()
    said = [item.text for item in state(session).items if item.role == "agent"]
    assert said == ["All of it."]


def retry_now(session: UUID) -> None:
    """Wait until the model may be asked again, a second or two."""
    deadline = time.monotonic() + 5
    while "model.answered" not in kinds(session) and time.monotonic() < deadline:
        time.sleep(0.2)
        work()


def test_without_streaming_the_whole_answer_is_asked_for(settings, bank):
    settings.AGENT_STREAMS = False
    with agent(settings, [Say("Hello.")]) as server:
        say(opened(), "Hello?")
    assert "stream" not in server.requests[0]


def test_a_script_is_asked_as_ever(bank):
    session = opened()
    asked(session)
    found = execution.ask_model(registry.find("bank"), state(session), "step-1", on_text=lambda text: None)
    assert found.text
