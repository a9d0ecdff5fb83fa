"""What a session's state remembers of its versions: checkpoints, rollbacks, calls of older epochs, where it came from.

All of it is bounded. An old checkpoint that has left the list can still be gone back to: any seq can.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

KEPT_AUTOMATIC = 20
KEPT_NAMED = 20
KEPT_ROLLBACKS = 10
KEPT_LATE = 40  # calls of older epochs whose results have not come
EVERY = 100  # entries

Why = Literal["named", "gate", "effect", "rest", "every", "rollback"]


class Checkpoint(msgspec.Struct, frozen=True):
    """A point to go back to: the state after the first `seq` entries. `digest` is of that state, of named ones."""

    seq: Annotated[int, Meta(description="the state after so many entries")]
    why: Why
    at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    name: str = ""
    digest: Annotated[str, Meta(description="of the state, where somebody named it")] = ""
    by: Annotated[str, Meta(description="user:<id>, or empty")] = ""


class RolledBack(msgspec.Struct, frozen=True):
    """A rollback: the entry that holds it, and the point it went back to."""

    seq: int
    to: int
    at: str
    by: str


class Late(msgspec.Struct, frozen=True):
    """A call that was running when its epoch ended. Its result will be recorded and change nothing."""

    tool: str
    attempt: int
    intent: int  # seq
    epoch: int
    kid: str = ""  # as the call's


class Origin(msgspec.Struct, frozen=True):
    """Where a fork came from: the parent's state after `seq` entries. It is promoted at `promoted`, or never was."""

    parent: str
    seq: int
    digest: str
    by: str
    promoted: str = ""


class Versions(msgspec.Struct, frozen=True):
    """What a state remembers of its versions."""

    checkpoints: tuple[Checkpoint, ...] = ()
    rollbacks: tuple[RolledBack, ...] = ()
    late: dict[str, Late] = {}
    origin: Origin | None = None
    superseded_by: str = ""  # the fork that was promoted in this session's place
    undone_calls: tuple[str, ...] = ()  # whose effects a person has ordered to be undone

    @property
    def is_draft(self) -> bool:
        """Whether this is a fork that may not speak or act."""
        return self.origin is not None and not self.origin.promoted


def with_checkpoint(versions: Versions, made: Checkpoint) -> Versions:
    """`versions` with one more checkpoint, in order of seq; a name that was given before has moved on."""
    if made.name:
        kept = [each for each in versions.checkpoints if each.name != made.name]
    else:
        kept = list(versions.checkpoints)
        places = [place for place, each in enumerate(kept) if not each.name]
        for place in reversed(places[: max(0, len(places) - KEPT_AUTOMATIC + 1)]):
            del kept[place]
    return msgspec.structs.replace(versions, checkpoints=tuple(sorted([*kept, made], key=attrgetter("seq"))))
