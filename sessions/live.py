"""Telling viewers and workers that something was committed: pointers only, after the commit, never instead of it.

Every process has one announcing thread with one event loop and one connection; the committing thread only hands over.
What is lost here (a crash, a wiped Valkey) is found again by the sweeper in the outbox.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any
from uuid import UUID

from channels.layers import get_channel_layer

from agentstate.engine import events as ev
from agentstate.engine.advance import Nothing, next_action
from audit import ledger
from sessions.runtime import crash

if TYPE_CHECKING:
    from sessions.commit import Committed

log = logging.getLogger(__name__)


def session_group(session: UUID) -> str:
    """The channel-layer group of those who look at one session."""
    return f"session.{session}"


def team_group(team: UUID) -> str:
    """The channel-layer group of those who look at a team's wall and queue."""
    return f"team.{team}"


def announce(committed: Committed, *, wake: bool) -> None:
    """Tell viewers, and with `wake` the workers when the session has work. Never raises: the sweeper makes up for
    it.
    """
    if committed.repeated or committed.first == committed.seq:
        return
    crash.point("after_commit", ev.kind_of(committed.events[0]))
    publish(committed.session, committed.place.team, committed.seq)
    if wake and not isinstance(next_action(committed.state, committed.state.last_at), Nothing):
        wake_worker()


def publish(session: UUID, team: UUID, seq: int) -> None:
    """Send {session, seq} to the session's viewers and to its team's."""
    message = {"type": "session.changed", "session": str(session), "seq": seq}
    _announcer.submit(_send([session_group(session), team_group(team)], message))


def wake_worker() -> None:
    """A hint that some session has work."""
    from sessions.tasks import advance_ready

    try:
        advance_ready.apply_async(expires=30, retry=False)
    except Exception as error:
        log.warning("no wake-up sent (%s): the sweeper will", type(error).__name__)


async def _send(groups: list[str], message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    try:
        for group in groups:
            await layer.group_send(group, message)
    except Exception as error:
        log.warning("no announcement sent (%s): the sweeper will", type(error).__name__)


class _Announcer:
    """One daemon thread with an event loop; started at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def submit(self, coroutine: Coroutine[Any, Any, None]) -> None:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="announcer", daemon=True).start()
        asyncio.run_coroutine_threadsafe(coroutine, self._loop)


_announcer = _Announcer()


def drain_outbox(older_than: float, limit: int = 500) -> int:
    """Announce again what was committed more than `older_than` seconds ago, once a session, and delete it. Gives the
    count.
    """
    rows = ledger.run(
        "WITH gone AS (DELETE FROM agent_sessions_outbox WHERE id IN (SELECT id FROM agent_sessions_outbox"
        " WHERE at < now() - make_interval(secs => %(age)s) ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED)"
        " RETURNING session, team, seq) SELECT session, team, max(seq) FROM gone GROUP BY session, team",
        {"age": older_than, "limit": limit},
    )
    for session, team, seq in rows:
        publish(session, team, seq)
    return len(rows)
