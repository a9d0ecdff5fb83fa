"""Commands of those who change a session's state side by side with others."""

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
