"""Commands about proofs."""

from __future__ import annotations

from typing import Any, ClassVar

from agentstate.engine.decide.commands.base import Command


class Prove(Command, frozen=True):
    """Put on record which value the state has at `path`, or had after `of` entries (0: now). What it had then (`past`,
    a pad) and which entry wrote it (`written`) are looked up beforehand.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"past", "written"})

    path: str
    of: int = 0
    past: dict[str, Any] | None = None
    written: int = -1
