"""Telling viewers and workers that something was committed: pointers only, after the commit, never instead of it.

Every process has one announcing thread with one event loop and one connection; the committing thread only hands over.
What is lost here (a crash, a wiped Valkey) is found again by the sweeper in the outbox.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from celery import current_app
from channels.layers import get_channel_layer
from django.conf import settings

from agentstate.engine import events as ev
from agentstate.engine.advance import Nothing, next_action
from audit import ledger, signer
from sessions.core import crash_points
from sessions.core.committed import Committed

log = logging.getLogger(__name__)
ADVANCE = "sessions.tasks.advance_ready"  # by name: the tasks are above this module
MAX_HINTS = 64  # wake-ups not yet sent; more say nothing new
MOST_WAITING = 256  # hints in the broker; no clock is asked whether they are stale: clocks of machines differ
HINT_SECONDS = 3600  # after which a hint may be dropped all the same: more than clocks differ by
SENDING = 3.0  # seconds that the sweeper waits for one announcement to leave
PAUSE = 0.02  # seconds between two announcements of one session


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
    _report(committed)
    crash_points.point("after_commit", ev.kind_of(committed.events[0]))
    if wake and not isinstance(next_action(committed.state, committed.state.last_at), Nothing):
        wake_worker()  # first: viewers wait for a page, a worker for its work
    publish(committed.session, committed.place.team, committed.seq)


def _report(committed: Committed) -> None:
    """Tells the signer, past the database, of a decision: who owns the database could keep it from being signed."""
    if committed.head is not None and any(isinstance(event, ev.DecisionMade) for event in committed.events):
        signer.report(committed.session, committed.head.size, committed.head.root)


def publish(session: UUID, team: UUID, seq: int) -> None:
    """Send {session, seq} to the session's viewers and to its team's."""
    _announcer.submit(session, team, seq)


def tell(group: str, message: dict[str, str]) -> None:
    """Send a message to a group, once and without waiting: what may be lost."""
    _announcer.tell(group, message)


def wake_worker() -> None:
    """A hint that some session has work; sent by a thread of its own, because a broker that hangs must hold up no
    command.
    """
    _waker.hint()


class _Waker:
    """One daemon thread that sends wake-ups; started at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hints: queue.Queue[None] = queue.Queue(MAX_HINTS)
        self._thread: threading.Thread | None = None

    def hint(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="waker", daemon=True)
                self._thread.start()
        with suppress(queue.Full):
            self._hints.put_nowait(None)

    def _run(self) -> None:
        crowded = False
        while True:
            self._hints.get()
            try:
                if not (crowded and _enough_hints()):
                    current_app.send_task(ADVANCE, expires=HINT_SECONDS, retry=False, ignore_result=True)
                crowded = _enough_hints()  # looked for when the hint has left, so that no work waits for the look
            except Exception:
                log.warning("no wake-up sent: the sweeper will", exc_info=True)


def _enough_hints() -> bool:
    """Whether so many hints wait that another would tell nobody anything: nobody works, or everybody does."""
    with current_app.pool.acquire(block=True) as broker:
        waiting = broker.default_channel.client.llen(settings.CELERY_TASK_DEFAULT_QUEUE)  # type: ignore[attr-defined]
        return int(waiting) >= MOST_WAITING


_waker = _Waker()


async def _send(session: UUID, team: UUID, seq: int) -> bool:
    layer = get_channel_layer()
    message = {"type": "session.changed", "session": str(session), "seq": seq}
    try:
        await layer.group_send(session_group(session), message)
        await layer.group_send(team_group(team), message)
    except Exception:
        log.warning("no announcement sent: the sweeper will", exc_info=True)
        return False
    return True


async def _tell(group: str, message: dict[str, str]) -> None:
    with suppress(Exception):
        await get_channel_layer().group_send(group, message)


class _Announcer:
    """One daemon thread with an event loop; started at first use.

    A commit is told at once; what the same session commits within PAUSE after that is told as one, by its newest seq.
    So a session in full run costs its worker one message in PAUSE instead of one a commit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[UUID, int] = {}  # of the sessions that are being told, or were just now
        self._loop: asyncio.AbstractEventLoop | None = None

    def submit(self, session: UUID, team: UUID, seq: int) -> None:
        with self._lock:
            told = session in self._newest
            self._newest[session] = max(seq, self._newest.get(session, -1))
        if not told:
            asyncio.run_coroutine_threadsafe(self._tell(session, team), self._running())

    def again(self, session: UUID, team: UUID, seq: int) -> Future[bool]:
        """Tell it now; whether it left, once that is known."""
        return asyncio.run_coroutine_threadsafe(_send(session, team, seq), self._running())

    def tell(self, group: str, message: dict[str, str]) -> None:
        """Send what may be lost."""
        asyncio.run_coroutine_threadsafe(_tell(group, message), self._running())

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="announcer", daemon=True).start()
            return self._loop

    async def _tell(self, session: UUID, team: UUID) -> None:
        sent = -1
        while (seq := self._newer(session, sent)) is not None:
            await _send(session, team, seq)
            await asyncio.sleep(PAUSE)
            sent = seq

    def _newer(self, session: UUID, sent: int) -> int | None:
        """The newest seq if it was not sent yet; otherwise the session is done with."""
        with self._lock:
            if self._newest[session] > sent:
                return self._newest[session]
            del self._newest[session]
            return None


_announcer = _Announcer()


class Announced(NamedTuple):
    """A commit that was announced: entries `first` to `seq` - 1 (-1: the beginning is not known)."""

    session: UUID
    team: UUID
    first: int
    seq: int
    at: datetime


def drain_outbox(
    older_than: float, limit: int = 5000, first: Callable[[Sequence[Announced]], object] | None = None
) -> int:
    """Announce again what was committed more than `older_than` seconds ago, once a session, then delete it. What could
    not be sent stays. `first` is called with the commits before anything is deleted: what must follow a commit in any
    case may hang on it. Gives how many sessions were announced.
    """
    rows = ledger.run(
        "SELECT id, session, team, first, seq, at FROM agent_sessions_outbox"
        " WHERE at < now() - make_interval(secs => %(age)s) ORDER BY id LIMIT %(limit)s",
        {"age": older_than, "limit": limit},
    )
    newest = {(session, team): seq for _, session, team, _, seq, _ in rows}
    if rows and first is not None:
        first([Announced(*row[1:]) for row in rows])
    sent = [_announcer.again(session, team, seq) for (session, team), seq in newest.items()]
    if not all(_went_well(sending) for sending in sent):
        return 0
    if rows:
        ledger.run("DELETE FROM agent_sessions_outbox WHERE id = ANY(%(ids)s)", {"ids": [row[0] for row in rows]})
    return len(sent)


def _went_well(sending: Future[bool]) -> bool:
    try:
        return sending.result(SENDING)
    except TimeoutError:
        sending.cancel()
        return False
