"""What happens when people and programs change a session's state side by side: it is changed, two clash, it is settled.

A value stands in a tuple, so that there being none (an empty tuple) is told from null.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentstate.engine.events.base import Event

How = Literal["plain", "counter", "set", "list", "maximum", "minimum", "last"]


class Write(msgspec.Struct, frozen=True):
    """What holds at a path from now on, how that came about, and the value that lost, if one did. `marks` is what the
    next merge of this path needs to know.
    """

    path: str
    value: Any = None
    removed: bool = False
    how: How = "plain"
    lost: tuple[Any, ...] = ()
    marks: tuple[str, ...] = ()


class StateChanged(Event, frozen=True, tag="state.changed"):
    """Somebody who had seen `seen` entries changed the scratchpad. `change` is the id of the change."""

    change: str
    seen: int
    by: str
    writes: tuple[Write, ...]
    reason: str = ""
    v: int = 1


class Proposal(msgspec.Struct, frozen=True):
    """A value for a path that is contested, by whom."""

    id: str
    by: str
    value: tuple[Any, ...]
    reason: str = ""


class ConflictOpened(Event, frozen=True, tag="conflict.opened"):
    """A path was changed twice and has no merge type. Until it is settled, `standing` holds.

    `rule`: by a vote with `quorum`, or by an arbiter. `base` is what the change was made on, `declared` the path whose
    rule it is.
    """

    conflict: str
    path: str
    rule: Literal["vote", "arbiter"]
    quorum: int
    declared: str
    base: tuple[Any, ...]
    standing: tuple[Any, ...]
    proposal: Proposal
    change: str
    seen: int
    v: int = 1


class ValueProposed(Event, frozen=True, tag="value.proposed"):
    """Somebody proposed another value for a contested path."""

    conflict: str
    proposal: Proposal
    v: int = 1


class VoteCast(Event, frozen=True, tag="vote.cast"):
    """Somebody is for this proposal (empty: for what stands). An earlier vote of theirs counts no more."""

    conflict: str
    proposal: str
    by: str
    reason: str = ""
    v: int = 1


class ConflictEnded(Event, frozen=True, tag="conflict.ended"):
    """A conflict reached its named end. `value` holds from now on; `lost` are the other proposals and what stood.

    `proposal` is empty when what stood goes on standing.
    """

    conflict: str
    outcome: Literal["voted", "arbitrated", "withdrawn"]
    proposal: str = ""
    value: tuple[Any, ...] = ()
    lost: tuple[Proposal, ...] = ()
    by: str = ""
    reason: str = ""
    v: int = 1
