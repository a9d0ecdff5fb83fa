"""Shapes of delegations of authority."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from agentstate.people.delegations import MAX_REASON
from agentstate.people.roles import DELEGABLE
from sessions.http.bodies import About, Body, Chars, Instant, Items, Words

DELEGATED = list(DELEGABLE)


class GiveDelegation(Body, kw_only=True):
    """To whom you lend your right to decide, and until when."""

    receiver: Annotated[UUID, About("a colleague who reads the team's sessions")]
    team: UUID
    permissions: Annotated[list[Annotated[str, Words(DELEGATED)]], Items(len(DELEGABLE))]
    until: Annotated[datetime, Instant("with its time zone")]
    reason: Annotated[
        str, Chars(MAX_REASON, "your colleague, the team's admins and auditors read it; write no customer's name")
    ]


class Delegation(Struct, frozen=True):
    id: UUID
    giver: UUID
    receiver: UUID
    team: UUID
    permissions: Sequence[str]
    until: datetime
    reason: str
    revoked_at: datetime | None


class DelegationList(Struct, frozen=True):
    delegations: Sequence[Delegation]
