"""Shapes of the schemas of states, of the three kinds of state, and of migrations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.migrating.overview import PlaceLine
from agentstate.engine.migrating.report import Blocked, Report
from sessions.http.bodies import About, Body, Chars, Command, Object, Range
from sessions.http.openapi import published
from sessions.state_schemas import queries


class Missing(Struct, frozen=True):
    path: str
    rule: str


class StateKinds(Struct, frozen=True):
    seq: Annotated[int, About("the state after so many entries")]
    schema: Annotated[str, About("e.g. bank@1; empty: nothing was declared when it was opened")]
    held: Annotated[bool, About("no newer version is taken by itself")]
    conversation: Annotated[Object, About("messages, turns, context_tokens")]
    task: Annotated[Object, About("goal, status, steps_completed, steps_remaining, current_step, data")]
    user: Annotated[Object, About("preferences and history, as far as the session was given them")]
    missing: Annotated[Sequence[Missing], About("what is still to be filled in")]
    pending: Annotated[int, About("the version that comes with the next step; 0: none")]
    blocked: Annotated[str, About("why it does not come: path and rule")]
    prunable: Annotated[Sequence[str], About("paths that nothing reads any more")]


class MigrateState(Command, kw_only=True):
    """The version to carry the state to."""

    to: Annotated[int, Range(1)]
    hold: Annotated[bool, About("stay at that version when newer ones come")] | UnsetType = UNSET


class PruneState(Command, kw_only=True):
    """Nothing to say: what nothing reads is found by rule."""


class TryMigration(Body, kw_only=True):
    """Which states to try it on."""

    agent: Annotated[str, Chars(200)]
    to: Annotated[int, Range(1, None, "without it, the newest version")] | UnsetType = UNSET


published(
    Place=PlaceLine,
    SchemaVersion=queries.VersionLine,
    AgentSchema=queries.SchemaLine,
    Stuck=Blocked,
    MigrationReport=Report,
)
