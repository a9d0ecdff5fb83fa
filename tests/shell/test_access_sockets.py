"""A live view ends with its socket: when the reader leaves, and when their right to look ends."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async

from agentstate.clock import now
from agentstate.people import grants
from agentstate.people.models import AccessGrant
from sessions.consumers import REVOKED
from sessions.models.sessions import OpenView
from tests import cast
from tests.shell.bank_world import opened
from tests.shell.test_access_log import entries
from tests.shell.test_consumers import socket_of, watching

pytestmark = pytest.mark.django_db(transaction=True)
db = database_sync_to_async  # which leaves no connection open behind it


@db
def look(user, session) -> None:
    assert cast.browser(user).get(f"/sessions/{session}/").status_code == 200


@db
def granted(**wishes: Any) -> AccessGrant:
    return grants.give(cast.anna(), cast.retail(), until=now() + timedelta(hours=1), reason="audit", by=None, **wishes)


async def closed_with(communicator) -> int:
    """The code with which the server ends the line."""
    async with asyncio.timeout(10):
        while (message := await communicator.receive_output(timeout=10))["type"] != "websocket.close":
            pass
    return message["code"]


async def test_a_view_is_closed_when_its_reader_leaves():
    alice, session = await db(cast.alice)(), await db(opened)()
    await look(alice, session)
    async with socket_of(alice) as page:
        await watching(page, f"session:{session}")
        assert await db(list)(OpenView.objects.values_list("held", flat=True)) == [True]
    (closed,) = await db(entries)(alice, "access.closed")
    assert (closed["why"], closed["about"]) == ("left", {str(session): [0, 0]})
    assert not await db(OpenView.objects.exists)()


async def test_two_tabs_on_two_transcripts_close_one_by_one():
    alice, one, two = await db(cast.alice)(), await db(opened)(), await db(opened)("C-1002")
    await look(alice, one)
    await look(alice, two)
    async with socket_of(alice) as first:
        await watching(first, f"session:{one}")
        async with socket_of(alice) as second:
            await watching(second, f"session:{two}")
        assert [list(each["about"]) for each in await db(entries)(alice, "access.closed")] == [[str(two)]]
    assert len(await db(entries)(alice, "access.closed")) == 2


@pytest.mark.parametrize("narrow", [False, True])
async def test_a_grant_that_runs_out_in_the_middle_of_a_live_view_ends_the_line(monkeypatch, narrow):
    monkeypatch.setattr("sessions.consumers.BEAT", 0.2)
    anna, session = await db(cast.anna)(), await db(opened)()
    await granted(sessions=[session] if narrow else [])
    await look(anna, session)
    async with socket_of(anna) as page:
        await watching(page, f"session:{session}")
        await db(AccessGrant.objects.update)(starts=now() - timedelta(hours=2), until=now() - timedelta(seconds=1))
        assert await closed_with(page) == REVOKED
    (closed,) = await db(entries)(anna, "access.closed")
    assert closed["why"] == "revoked"


async def test_a_grant_that_is_taken_back_ends_the_line_at_once():
    anna, session = await db(cast.anna)(), await db(opened)()
    grant = await granted()
    await look(anna, session)
    async with socket_of(anna) as page:
        await watching(page, f"session:{session}")
        await db(grants.revoke)(grant.pk, None)
        assert await closed_with(page) == REVOKED


async def test_a_wall_on_single_sessions_tells_of_those_alone():
    anna, one = await db(cast.anna)(), await db(opened)()
    await db(opened)("C-1002")
    await granted(sessions=[one])
    async with socket_of(anna) as wall:
        frames = await watching(wall, "wall")
    assert frames[-1]["sessions"] == [str(one)]
