"""What staff write about their own work: sealed under the key of their team's subject, and gone with it.

The sealed bytes begin with the id of that key (16 bytes), so that they are opened wherever they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from audit.keys import sealing
from audit.keys.errors import Erased
from audit.keys.subjects import subject_kid, warm

PURPOSE = "audit/team_words"
KID = 16  # bytes


def kid_of(tenant: UUID, team: UUID) -> UUID:
    """Returns the id of the key of a team's own subject, made at first use."""
    return subject_kid(tenant, f"team:{team}")


def seal(tenant: UUID, team: UUID, text: str) -> bytes:
    """Returns `text` sealed under the team's key."""
    kid = kid_of(tenant, team)
    return kid.bytes + sealing.seal(kid, PURPOSE, text.encode())


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
