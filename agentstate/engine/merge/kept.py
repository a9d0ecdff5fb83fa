"""What a state remembers of changes side by side: marks of merged paths, ids of changes, conflicts. All bounded."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentstate.engine.events.scratchpad import Proposal

KEPT_MARKS = 200  # paths; the one changed longest ago goes first
KEPT_CHANGES = 100  # ids; a change that arrives again counts once
KEPT_ENDED = 10  # conflicts that have ended
MOST_OPEN = 20  # conflicts that wait
MOST_PROPOSALS = 16  # of one conflict
MOST_VOTES = 64  # of one conflict

Standing = Literal["open", "voted", "arbitrated", "withdrawn"]


class Conflict(msgspec.Struct, frozen=True):
    """A contested path, what is proposed for it, and who is for what. Votes for "" are for what stands."""

    id: str
    seq: int
    at: str
    path: str
    rule: Literal["vote", "arbiter"]
    quorum: int
    declared: str
    base: tuple[Any, ...]
    standing: tuple[Any, ...]
    proposals: tuple[Proposal, ...]
    votes: dict[str, str] = {}
    status: Standing = "open"
    chosen: str = ""
    by: str = ""

    def proposal(self, number: str) -> Proposal | None:
        """The proposal of that id, or None."""
        return next((each for each in self.proposals if each.id == number), None)

    def votes_for(self, number: str) -> int:
        """How many are for it."""
        return sum(chosen == number for chosen in self.votes.values())


class Changes(msgspec.Struct, frozen=True):
    """What a state remembers of changes side by side."""

    marks: dict[str, tuple[str, ...]] = {}
    applied: tuple[str, ...] = ()
    conflicts: dict[str, Conflict] = {}

    @property
    def open(self) -> list[Conflict]:
        """The conflicts that wait, oldest first."""
        return [each for each in self.conflicts.values() if each.status == "open"]
