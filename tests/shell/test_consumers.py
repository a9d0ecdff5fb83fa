"""The socket of a page: joins, forwards, resumes, and closes on whoever may no longer look."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser

from agentstate.people import commands as people
from sessions.automation.notifications.queries import bell
from sessions.consumers import BAD_FRAME, NOT_SIGNED_IN, REVOKED, routes
from sessions.conversation import commands as conversation_commands
from tests import cast
from tests.shell.bank_world import opened
from tests.shell.notice_world import rule as notice_rule
from tests.shell.notice_world import tell

pytestmark = pytest.mark.django_db(transaction=True)
db = sync_to_async


@asynccontextmanager
async def socket_of(user):
    """A connected socket of `user`, whose first frame (a beat) was read."""
    communicator = WebsocketCommunicator(URLRouter(routes), "/live/")
    communicator.scope["user"] = user
    await communicator.connect()
    if user.is_authenticated:
        assert (await communicator.receive_json_from())["kind"] == "beat"
    try:
        yield communicator
    finally:
        await communicator.disconnect()


async def frames_until(communicator, kind: str) -> list[dict]:
    """The frames up to the first of `kind`, beats left out."""
    found = []
    while not found or found[-1]["kind"] != kind:
        frame = await communicator.receive_json_from(timeout=5)
        if frame["kind"] != "beat":
            found.append(frame)
    return found


async def watching(communicator, *topics: str, **seen: int) -> list[dict]:
    await communicator.send_json_to({"watch": list(topics), "seen": seen})
    return await frames_until(communicator, "watching")


async def test_a_commit_reaches_the_wall_and_the_session_page():
    alice, session = await db(cast.alice)(), await db(opened)()
    async with socket_of(alice) as wall, socket_of(alice) as page:
        await watching(wall, "wall")
        await watching(page, f"session:{session}")
        committed = await db(conversation_commands.say)(await db(cast.cleo)(), session, "Hello?")
        for communicator in (wall, page):
            frame = (await frames_until(communicator, "changed"))[-1]
            assert frame == {"kind": "changed", "session": str(session), "seq": committed.seq}


async def test_who_is_told_something_hears_of_it_on_every_page_and_nobody_else_does():
    alice, vera = await db(cast.alice)(), await db(cast.vera)()
    await db(notice_rule)()
    async with socket_of(alice) as hers, socket_of(vera) as other:
        await db(opened)()
        await db(tell)()
        frame = (await frames_until(hers, "notices"))[-1]
        assert frame == {"kind": "notices", "mark": (await db(bell)(alice)).mark}
        assert not [each for each in await watching(other, "wall") if each["kind"] == "notices"]
        assert (await db(bell)(vera)).count == 0


async def test_what_happened_while_away_is_told_on_return_and_what_was_seen_is_not():
    alice, one, two = await db(cast.alice)(), await db(opened)(), await db(opened)("C-1002")
    async with socket_of(alice) as communicator:
        frames = await watching(communicator, "wall", **{str(one): 1})
    changed = [frame for frame in frames if frame["kind"] == "changed"]
    assert changed == [{"kind": "changed", "session": str(two), "seq": 1}]
    assert frames[-1]["sessions"] == sorted([str(one), str(two)])


async def test_another_teams_session_is_refused_and_never_heard_of():
    charlie, session = await db(cast.charlie)(), await db(opened)()
    async with socket_of(charlie) as communicator:
        await communicator.send_json_to({"watch": [f"session:{session}", "wall"]})
        frames = await frames_until(communicator, "watching")
        assert frames[0] == {"kind": "refused", "topic": f"session:{session}"}
        assert frames[-1]["sessions"] == []
        await db(conversation_commands.say)(await db(cast.cleo)(), session, "Hello?")
        assert await communicator.receive_nothing(timeout=0.5)


async def test_disabling_somebody_closes_their_socket_at_once():
    alice = await db(cast.alice)()
    async with socket_of(alice) as communicator:
        await watching(communicator, "wall")
        await db(people.disable)(alice, None)
        message = await communicator.receive_output(timeout=5)
        assert message == {"type": "websocket.close", "code": REVOKED}


async def test_a_hint_that_was_lost_is_made_up_for_at_the_next_beat(monkeypatch):
    monkeypatch.setattr("sessions.consumers.BEAT", 0.2)
    monkeypatch.setattr("agentstate.people.live.close_sockets", lambda *_: None)
    alice = await db(cast.alice)()
    async with socket_of(alice) as communicator:
        await db(people.disable)(alice, None)
        async with asyncio.timeout(5):
            while (message := await communicator.receive_output(timeout=5))["type"] != "websocket.close":
                pass
        assert message["code"] == REVOKED


async def test_a_stranger_is_turned_away():
    async with socket_of(AnonymousUser()) as communicator:
        assert (await communicator.receive_output())["code"] == NOT_SIGNED_IN


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        '{"watch": "wall"}',
        '{"watch": [1]}',
        '{"watch": [], "seen": {"a": "b"}}',
        '{"watch": [], "seen": {"a": true}}',
        '{"other": 1}',
        "[" * 10_000,
        '{"watch": ["' + "x" * 30_000 + '"]}',
    ],
)
async def test_whatever_is_not_a_frame_closes_the_socket(text):
    alice = await db(cast.alice)()
    async with socket_of(alice) as communicator:
        await communicator.send_to(text_data=text)
        assert (await communicator.receive_output(timeout=5)) == {"type": "websocket.close", "code": BAD_FRAME}


@pytest.mark.parametrize("topic", ["session:nonsense", f"session:{UUID(int=7)}", "people:1", "", "team.*"])
async def test_an_unknown_topic_is_refused_by_name(topic):
    alice = await db(cast.alice)()
    async with socket_of(alice) as communicator:
        await communicator.send_json_to({"watch": [topic]})
        assert (await frames_until(communicator, "refused"))[-1]["topic"] == topic
