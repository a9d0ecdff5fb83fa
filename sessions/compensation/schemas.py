"""Shapes of what can be undone, and of the order to do so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.decide.compensation import MAX_REASON, MAX_STEPS
from sessions.compensation import queries
from sessions.http.bodies import About, Chars, Command, Items, Range
from sessions.http.openapi import published

MAX_CALL = 200  # characters of a call's id


class Compensate(Command, kw_only=True):
    """Which effects, and why."""

    rollback: Annotated[int, Range(0, None, "the entry of the rollback that left them standing")]
    calls: Annotated[list[Annotated[str, Chars(MAX_CALL)]], Items(MAX_STEPS)] | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REASON)]


class UndoableEffects(Struct, frozen=True):
    rollback: Annotated[int | None, About("the entry of the latest rollback")]
    effects: Sequence[queries.Undoable]


published(UndoableEffect=queries.Undoable)
