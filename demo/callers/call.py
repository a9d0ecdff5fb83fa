"""One call from the first word to the last: listen, think, answer; wait with patience; hang up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from time import monotonic
from typing import Any, Protocol

from demo.callers.kinds import HANG_UP, Story, cue, opening, reply

POLL = 1.0  # seconds between two looks at the session
ANSWERS = 40  # after which a caller sees that this leads nowhere
LONGEST = 1800.0  # seconds after which anybody hangs up
SILENCE = 45.0  # seconds without an answer before a caller asks whether somebody is there
SHORTEST_SILENCE = 20.0  # the agent may have to wait for others, however quick the caller is
SILENCES = 6  # of them, before the caller gives up


class Line(Protocol):
    """What a call needs of the product's API (see api.py)."""

    async def open(self, **wanted: str) -> dict[str, Any]: ...
    async def say(self, session: str, text: str) -> None: ...
    async def end(self, session: str, reason: str) -> None: ...
    async def session(self, session: str) -> dict[str, Any]: ...
    async def entries(self, session: str, after: int) -> list[dict[str, Any]]: ...


@dataclass
class Call:
    """A call in progress. `pace` multiplies every human pause (1.0 is a person, 0.1 ten times as quick)."""

    line: Line
    story: Story
    dice: Random
    pace: float = 1.0
    poll: float = POLL
    clock: Callable[[], float] = monotonic  # seconds
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    id: str = ""
    seen: int = -1  # seq of the last entry read
    heard: list[str] = field(default_factory=list)  # what the agent said and nobody has answered
    silences: int = 0
    met: bool = False  # a colleague, and no machine, spoke last
    answers: int = 0

    async def run(self) -> str:
        """Make the call. Returns why it ended."""
        began = self.clock()
        opened = await self.line.open(
            customer=self.story.person.id,
            agent="bank",
            channel=self.story.kind.channel,
            topic=self.story.kind.topic,
        )
        self.id = str(opened["id"])
        await self._pause(0.6, 1.6)
        await self.line.say(self.id, opening(self.story, self.dice))
        reason = ""
        while not reason:
            reason = await self._turn()
            if self.clock() - began > LONGEST or self.answers > ANSWERS:
                reason = reason or "the customer had to go"
        if reason != "ended":
            await self.line.end(self.id, reason)
        return reason

    async def _turn(self) -> str:
        """Wait for something to answer, and answer it. Returns why the call is over, "" while it is not."""
        waiting = await self._listen()
        if waiting == "ended":
            return "ended"
        if self.heard:
            return await self._answer()
        if waiting == "decision":
            return await self._keep_company()
        self.silences += 1
        if self.silences > SILENCES:
            return "nobody answered"
        await self.line.say(self.id, reply(self.story, "silence", self.dice))
        return ""

    async def _listen(self) -> str:
        """Until the agent has said something, or too long. Returns what the session waits for, or "ended"."""
        began = self.clock()
        limit = max(SHORTEST_SILENCE, SILENCE * self.pace)
        drawn, waiting = False, ""
        while self.clock() - began < limit:
            await self.sleep(self.poll)
            view = await self.line.session(self.id)
            if view["seq"] - 1 > self.seen:
                await self._read()
            if view.get("ended_at"):
                return "ended"
            waiting = str(view["waiting_for"])
            if self.heard and waiting in ("customer", "decision", "nobody"):
                return waiting
            if waiting == "decision" and not drawn:
                drawn, limit = True, self._patience()
            if waiting == "retry":
                began = self.clock()  # the agent is busy: a caller hears that it works
        return waiting

    def _patience(self) -> float:
        """Seconds until a caller who waits for a decision says something."""
        return self.dice.uniform(0.5, 1.1) * self.story.kind.restless * self.pace

    async def _read(self) -> None:
        for entry in await self.line.entries(self.id, self.seen):
            self.seen = max(self.seen, int(entry["seq"]))
            data = entry["data"] or {}
            if entry["kind"] == "message.added" and data.get("role") in ("agent", "staff"):
                self.heard.append(str(data["text"]))
                self.met = data["role"] == "staff"

    async def _answer(self) -> str:
        """Say the next thing. An announcement ("one moment") needs no answer."""
        wanted = cue(" ".join(self.heard))
        if self.met and wanted != "goodbye" and "met" in self.story.kind.lines:
            wanted = "met"
        words = sum(len(text.split()) for text in self.heard)
        self.heard.clear()
        self.silences = 0
        self.answers += 1
        if wanted == "goodbye":
            await self._pause(0.5, 2.0)
            return "the customer said goodbye"
        said = reply(self.story, wanted, self.dice)
        if said:
            await self._pause(1.0 + 0.05 * words, 2.5 + 0.12 * words)
            await self.line.say(self.id, said)
        return ""

    async def _keep_company(self) -> str:
        said = reply(self.story, "chat", self.dice)
        if said == HANG_UP:
            return "the customer hung up while waiting"
        await self.line.say(self.id, said)
        return ""

    async def _pause(self, low: float, high: float) -> None:
        await self.sleep(self.dice.uniform(low, high) * self.pace)
