"""Shapes of a session's state, of changes to it, and of conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, get_args

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.decide.versions import MAX_REASON
from agentstate.engine.events.scratchpad import How
from agentstate.engine.merge.three_way import MAX_PATHS
from sessions.http.answers import Receipt
from sessions.http.bodies import About, Body, Chars, Command, Items, Range, Words
from sessions.http.openapi import published
from sessions.state import queries

MERGE_HOW = list(get_args(How))
_PATH = 2_000  # characters
_ID = 60


class PathChange(Body, kw_only=True):
    """What one path is to hold: `value`, or with `remove` nothing."""

    path: Annotated[str, Chars(_PATH, "e.g. state.goal")]
    value: Any | UnsetType = UNSET
    remove: bool | UnsetType = UNSET


class ChangeState(Command, kw_only=True):
    """A change of the scratchpad, by somebody who saw it after `seen` entries."""

    seen: Annotated[int, Range(1, None, "`seq` of the state that the change was made on")]
    changes: Annotated[list[PathChange], Items(MAX_PATHS, f"at most {MAX_PATHS}", least=1)]
    reason: Annotated[str, Chars(MAX_REASON, blank=True)] | UnsetType = UNSET


class ProposeValue(Command, kw_only=True):
    """Another value for a contested path."""

    value: Any | UnsetType = UNSET
    remove: bool | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REASON, blank=True)] | UnsetType = UNSET


class CastVote(Command, kw_only=True):
    """For which proposal; empty: for what stands."""

    proposal: Annotated[str, Chars(_ID, blank=True)]
    reason: Annotated[str, Chars(MAX_REASON, blank=True)] | UnsetType = UNSET


class Settle(Command, kw_only=True):
    """Which proposal holds; empty: what stands."""

    proposal: Annotated[str, Chars(_ID, blank=True)]
    reason: Annotated[str, Chars(MAX_REASON)]


class Written(Struct, frozen=True):
    path: str
    how: Annotated[str, Words(MERGE_HOW, "plain, or the type by which it was merged")]
    lost: Annotated[Sequence[Any], About("the value that lost, if one did")]


class Changed(Receipt, frozen=True, kw_only=True):
    written: Sequence[Written]
    conflicts: Annotated[Sequence[str], About("ids of conflicts that it opened")]


class ConflictList(Struct, frozen=True):
    conflicts: Sequence[queries.ConflictLine]


published(SessionState=queries.StateLine, Proposal=queries.ProposalLine, Conflict=queries.ConflictLine)
