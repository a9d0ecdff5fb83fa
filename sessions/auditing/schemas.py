"""Shapes of what auditors read, and of grants."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.people.grants import MAX_REASON, MOST_SESSIONS
from agentstate.people.roles import GRANTABLE
from sessions.auditing import queries
from sessions.http.bodies import About, Body, Chars, Instant, Items, Words
from sessions.http.openapi import published

GRANT_KIND = [kind.value for kind in GRANTABLE]


class AccessPage(Struct, frozen=True):
    entries: Sequence[queries.ReadLine]
    next: Annotated[str | None, About("`after` of the next page")]


class StaffPage(Struct, frozen=True):
    entries: Sequence[queries.StaffLine]
    next: Annotated[int | None, About("`before` of the next page")]


class SampledLog(Struct, frozen=True):
    session: UUID
    size: Annotated[int, About("entries, as the global log has it")]


class DrawnSample(Struct, frozen=True):
    seed: str
    digest: Annotated[str, About("SHA-256 over a line `<session> <size>` for each, by session")]
    total: Annotated[int, About("entries that were drawn from")]
    signed: Annotated[int, About("size of the newest signed head")]
    root: Annotated[str, About("its root; empty when nothing is signed yet")]
    waiting: Annotated[int, About("sessions that no signed head covers yet")]
    population: Sequence[SampledLog]
    entries: Sequence[queries.SampledLine]


class DowntimePage(Struct, frozen=True):
    downtimes: Sequence[queries.GapLine]
    next: Annotated[int | None, About("`before` of the next page")]


class GiveGrant(Body, kw_only=True):
    """Whom to let in, to what, and until when."""

    user: Annotated[UUID, About("somebody with the role auditor in the team")]
    team: UUID
    kinds: Annotated[list[Annotated[str, Words(GRANT_KIND)]], Items(len(GRANTABLE))]
    until: Annotated[datetime, Instant("with its time zone")]
    starts: Annotated[datetime, Instant("without it, now")] | UnsetType = UNSET
    sessions: Annotated[list[UUID], Items(MOST_SESSIONS, "only these; without it, all")] | UnsetType = UNSET
    opened_from: Annotated[datetime, Instant("only sessions opened then or later")] | UnsetType = UNSET
    opened_to: Annotated[datetime, Instant("only sessions opened before")] | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REASON, "the auditor and the team's admins read it; write no customer's name")]


class Grant(Struct, frozen=True):
    id: UUID
    user: UUID
    team: UUID
    kinds: Sequence[str]
    sessions: Sequence[UUID]
    opened_from: datetime | None
    opened_to: datetime | None
    starts: datetime
    until: datetime
    given_by: str
    reason: str
    revoked_at: datetime | None


class GrantList(Struct, frozen=True):
    grants: Sequence[Grant]


published(
    AccessEntry=queries.ReadLine,
    StaffEntry=queries.StaffLine,
    SampledEntry=queries.SampledLine,
    Downtime=queries.GapLine,
)
