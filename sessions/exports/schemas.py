"""Shapes of exports of many sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.lifecycle import SessionStatus
from sessions.core.person import MAX_REFERENCE
from sessions.exports.session import LONGEST_REASON
from sessions.http.bodies import About, Body, Chars, Instant, Words
from sessions.models.sessions import Export as Row

SESSION_STATUS = [status.value for status in SessionStatus]
EXPORT_STATE = [state.value for state in Row.State]


class AskExport(Body, kw_only=True):
    """Which sessions, all of them where nothing narrows; masked unless a reason for unmasking is given."""

    team: UUID | UnsetType = UNSET
    agent: Annotated[str, Chars(60)] | UnsetType = UNSET
    status: Annotated[str, Words(SESSION_STATUS)] | UnsetType = UNSET
    customer: Annotated[str, Chars(MAX_REFERENCE, "a customer's reference")] | UnsetType = UNSET
    opened_from: Annotated[datetime, Instant()] | UnsetType = UNSET
    opened_to: Annotated[datetime, Instant()] | UnsetType = UNSET
    unmask: Annotated[bool, About("show personal values; needs the permission and a reason")] | UnsetType = UNSET
    reason: Annotated[str, Chars(LONGEST_REASON, "recorded; no names of customers")] | UnsetType = UNSET


class Export(Struct, frozen=True):
    """An export, and how far it is."""

    id: UUID
    state: Annotated[str, Words(EXPORT_STATE)]
    problem: Annotated[str, About("code of the refusal that ended it; else empty")]
    masked: bool
    total: Annotated[int, About("sessions")]
    built: Annotated[int, About("of them")]
    size: Annotated[int, About("bytes of the bundles so far")]
    asked_at: datetime
    ended_at: datetime | None
    expires_at: datetime | None


class ExportList(Struct, frozen=True):
    """Your exports, newest first."""

    exports: Sequence[Export]
