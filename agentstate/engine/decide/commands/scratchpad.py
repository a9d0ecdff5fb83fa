"""Commands to a session's scratchpad: change, propose, vote, migrate, prune, vouch for a value."""

from __future__ import annotations

from typing import Any, ClassVar

from agentstate.engine.decide.commands.base import Command
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.schemas.declared import Actor


class ChangeState(Command, frozen=True):
    """Change paths of the scratchpad. `seen` is how many entries its author had seen, `base` the scratchpad then."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"base", "actor", "change"})

    seen: int
    changes: tuple[PathChange, ...]
    by: str
    actor: Actor
    change: str  # the id of this change: one that arrives twice counts once
    base: dict[str, Any]
    reason: str = ""


class Propose(Command, frozen=True):
    """Another value for a contested path; who proposes it is for it."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"actor"})

    conflict: str
    by: str
    actor: Actor
    value: Any = None
    remove: bool = False
    reason: str = ""


class Vote(Command, frozen=True):
    """Be for a proposal, or with an empty one for what stands."""

    conflict: str
    proposal: str
    by: str
    reason: str = ""


class Arbitrate(Command, frozen=True):
    """A person settles a conflict, by a proposal or with an empty one by what stands."""

    conflict: str
    proposal: str
    by: str
    reason: str


class Migrate(Command, frozen=True):
    """Carry the state to version `to` of its schema. `hold`: it stays there when newer versions come."""

    to: int
    by: str
    hold: bool = False


class Prune(Command, frozen=True):
    """Remove what nothing reads any more from the state."""

    by: str


class Prove(Command, frozen=True):
    """Put on record which value the state has at `path`, or had after `of` entries (0: now). What it had then (`past`,
    a pad) and which entry wrote it (`written`) are looked up beforehand.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"past", "written"})

    path: str
    of: int = 0
    past: dict[str, Any] | None = None
    written: int = -1
