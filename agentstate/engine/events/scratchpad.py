"""Events of a session's scratchpad: changed, in conflict, migrated, pruned, and values that a source vouches for.

A value is recorded in a tuple: an empty tuple means that there is no value, unlike null. A migration records what it
did, so folding it needs neither the migration nor its functions.
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


class StateMigrated(Event, frozen=True, tag="state.migrated"):
    """The state was carried from version `before` of `schema` to version `after`.

    `put` and `gone` are its topmost values that are new or changed, and the names that are gone; `digest` is of the
    scratchpad after it. `moved` says where the results of open calls and contested paths stand now. `lossless`: the
    way back gives the same state. `held`: it stays at this version until somebody says otherwise. `instance`: it is of
    the scratchpad of an instance; that of the session itself comes last and settles the version.
    """

    schema: str
    before: int
    after: int
    put: dict[str, Any]
    gone: tuple[str, ...]
    digest: str
    lossless: bool
    moved: dict[str, str] = {}
    held: bool = False
    by: str = ""  # empty: it came by itself, with the next step of the session
    instance: str = ""
    v: int = 1


class StatePruned(Event, frozen=True, tag="state.pruned"):
    """What stood at `paths` is gone: no schema, rule, plan or tool reads it any more. `digest` is of the scratchpad
    after it.
    """

    paths: tuple[str, ...]
    digest: str
    by: str
    v: int = 1


class ValueProved(Event, frozen=True, tag="value.proved"):
    """After `state` entries the state had this value at `path`; entry `written` wrote it, where that is known (else
    -1). Nothing else is in here: whoever is shown the entry whole learns no more.
    """

    path: str
    value: Any
    state: int
    written: int = -1
    v: int = 1
