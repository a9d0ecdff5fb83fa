"""Shapes of what is stuck, and of stepping in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.decide.interventions import MAX_REASON
from sessions.http.bodies import About, Chars, Command, Words
from sessions.interventions import queries

MAX_CALL = 200  # characters of a call's id


class Intervention(Command, kw_only=True):
    """What a person says of a call."""

    call: Annotated[str, Chars(MAX_CALL)]
    how: Annotated[str, Words(queries.INTERVENTION)]
    reason: Annotated[str, Chars(MAX_REASON)]
    result: Annotated[Any, About("with `supply` and `happened`: judged by the tool's own schema")] | UnsetType = UNSET


class Withdrawal(Command, kw_only=True):
    """Which call is withdrawn, and why."""

    call: Annotated[str, Chars(MAX_CALL)] | UnsetType = UNSET
    request: Annotated[str, Chars(MAX_CALL, "instead of `call`: the request that asks for it")] | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REASON)]


class RetrySession(Command, kw_only=True):
    """Why it is tried again."""

    reason: Annotated[str, Chars(MAX_REASON)]


class StuckSession(Struct, frozen=True):
    id: UUID
    agent: str
    status: str
    stuck: Annotated[int, About("calls that a person must settle, and the session itself if it failed")]
    stalled: Annotated[str, About("why the runtime leaves it alone; empty: it does not")]
    stalled_at: datetime | None
    last_at: datetime


class StuckList(Struct, frozen=True):
    sessions: Sequence[StuckSession]


class StuckCalls(Struct, frozen=True):
    calls: Sequence[queries.StuckCall]
