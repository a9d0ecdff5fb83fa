"""Partial text of an agent's answer, on its way to colleagues who look at the session: no entry, never sent to the
customer, and nowhere in clear outside of the memory of a process. It may be lost at any time; what counts is committed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from agentstate.errors import AgentStateError
from audit import keys, ledger
from sessions.core import announcements, states
from sessions.core.projections import Place

log = logging.getLogger(__name__)
PURPOSE = "agent_sessions/writing"
EVERY = 0.1  # seconds between two fragments of one answer
LOOK = 0.2  # seconds between two looks whether anybody waits for the answer still
MOST = 4_000  # characters of a fragment: the end of what was written so far
KIND = "session.writing"


class Dropped(Exception):
    """Nobody waits for this answer any more: a person took the session over, or the customer interrupted."""


def group(session: UUID) -> str:
    """The channel-layer group of those who see what the agent of a session is writing."""
    return f"writing.{session}"


class Writing:
    """What the model says at one step, passed on while it arrives; not at all where it is `judged` before it is said.
    Used by one thread.
    """

    def __init__(self, place: Place, step: str, size: int, *, judged: bool = False) -> None:
        self._place, self._step, self._size, self._judged = place, step, size, judged
        self._text = ""
        self._sent = self._looked = time.monotonic() - EVERY
        self._begun = False

    def hear(self, text: str) -> None:
        """A piece of it. Raises Dropped, which ends the request."""
        self._text = (self._text + text)[-MOST:]
        now = time.monotonic()
        if now - self._looked >= LOOK:
            self._looked = now
            self._must_be_awaited()
        if now - self._sent >= EVERY and not self._judged:
            self._sent, self._begun = now, True
            self._send(self._text)

    def over(self) -> None:
        """The step has ended: what was shown of it goes."""
        if self._begun:
            self._send("")

    def _must_be_awaited(self) -> None:
        size = ledger.read_head(self._place.id).size
        if size == self._size:
            return
        self._size = size
        if states.load(self._place.id).state.asking != self._step:
            raise Dropped

    def _send(self, text: str) -> None:
        try:
            sealed = keys.seal(self._place.kid, f"{PURPOSE}/{self._place.id}", text.encode())
        except AgentStateError as error:  # the subject is being erased: nothing is shown
            log.info("a fragment was not sent: %s", type(error).__name__)
            return
        message = {"type": KIND, "session": str(self._place.id), "kid": str(self._place.kid), "step": self._step}
        announcements.tell(group(self._place.id), {**message, "sealed": sealed.hex()})


def opened(message: Mapping[str, Any]) -> str | None:
    """The text of a fragment as it came over the channel layer; None when its subject was erased meanwhile."""
    try:
        purpose = f"{PURPOSE}/{message['session']}"
        return keys.unseal(UUID(message["kid"]), purpose, bytes.fromhex(message["sealed"])).decode()
    except (AgentStateError, keys.Erased):
        return None
