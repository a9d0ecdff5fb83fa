"""What staff write about their own work: sealed under the key of their team's subject, and gone with it.

The sealed bytes begin with the id of that key (16 bytes), so that they are opened wherever they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from audit.keys import sealing
from audit.keys.errors import Erased
from audit.keys.subjects import subject_kids, warm

PURPOSE = "audit/team_words"
KID = 16  # bytes


def kids_of(tenant: UUID, teams: Iterable[UUID]) -> dict[UUID, UUID]:
    """Returns the id of the key of each team's own subject, made at first use."""
    named = {team: f"team:{team}" for team in teams}
    kids = subject_kids(tenant, named.values())
    return {team: kids[name] for team, name in named.items()}


def seal_each(tenant: UUID, teams: Iterable[UUID], text: str) -> dict[UUID, bytes]:
    """Returns `text` sealed under the key of each team, in four statements."""
    kids = kids_of(tenant, teams)
    warm(kids.values())
    return {team: kid.bytes + sealing.seal(kid, PURPOSE, text.encode()) for team, kid in kids.items()}


def seal(tenant: UUID, team: UUID, text: str) -> bytes:
    """Returns `text` sealed under the team's key."""
    return seal_each(tenant, [team], text)[team]


def opened(sealed: bytes) -> str:
    """Returns the text; empty where nothing was written, or once the team's key is destroyed. Raises Unreadable."""
    if not sealed:
        return ""
    try:
        return sealing.unseal(UUID(bytes=sealed[:KID]), PURPOSE, sealed[KID:]).decode()
    except Erased:
        return ""


def fetch(sealed: Iterable[bytes]) -> None:
    """Fetches the keys of many sealed texts in one query."""
    warm({UUID(bytes=each[:KID]) for each in sealed if each})
