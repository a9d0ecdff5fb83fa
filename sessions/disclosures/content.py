"""What of a session is shown to somebody outside: an entry, a field of one, a range, or all of it, with its proof.

A disclosure holds no copy. Its document is made from the ledger whenever it is asked for, so what was erased since is
gone from it too. A link's token is known here only by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db.models import F

from agentstate.clock import now
from agentstate.errors import NotFound, Refused
from agentstate.ids import new_id
from audit import keys, ledger
from audit.models import SubjectKey
from audit.proofs import making
from sessions.core import access, visibility
from sessions.core.access import Seen
from sessions.models.sessions import Disclosure

TOKEN = 32  # bytes
SEALED = "agent_sessions/disclosure"


class What(StrEnum):
    """How much is shown."""

    ENTRY = "entry"
    FIELD = "field"
    RANGE = "range"
    SESSION = "session"


class Standing(StrEnum):
    """What a link is worth now."""

    OPEN = "open"
    EXPIRED = "expired"
    REVOKED = "revoked"
    ERASED = "erased"
    FILE = "file"  # handed out, and nothing can take it back


class UnknownLink(NotFound):
    """There is no such link."""

    code = "unknown_link"


class LinkEnded(Refused):
    """This link has ended."""

    code = "link_ended"
    status = 410


class LinkErased(Refused):
    """What was shared here has been erased."""

    code = "link_erased"
    status = 410


@dataclass(frozen=True, slots=True)
class Name:
    """The id of a disclosure and the secret part of its link."""

    id: UUID
    token: str


def fresh() -> Name:
    """Of a new one."""
    return Name(new_id(), secrets.token_urlsafe(TOKEN))


def keyed(tenant: UUID, actor: str, session: UUID, key: str) -> Name:
    """Of the one that this idempotency key stands for, in this session and for this person. Both follow from the key,
    which is not kept, and from the tenant's blind-index key: so the same answer can be given again, and not be read
    out of the database.
    """
    ident, token = (
        keys.blind_token(tenant, f"{SEALED}/{part}", f"{session}/{actor}/{key}") for part in ("id", "token")
    )
    return Name(UUID(bytes=ident[:16], version=5), base64.urlsafe_b64encode(token).rstrip(b"=").decode())


def hashed(token: str) -> bytes:
    """What is stored of a token."""
    return hashlib.sha256(token.encode()).digest()


def found(token: str) -> Disclosure:
    """The disclosure behind a link. Raises UnknownLink."""
    row = Disclosure.objects.filter(token=hashed(token)).first()
    if row is None:
        raise UnknownLink()
    return row


def standing(row: Disclosure) -> Standing:
    """Erased before all else: of what is gone nothing but that is told."""
    if erased_at(row.kid) is not None:
        return Standing.ERASED
    if row.token is None:
        return Standing.FILE
    if row.revoked_at is not None:
        return Standing.REVOKED
    return Standing.EXPIRED if row.expires_at is not None and row.expires_at <= now() else Standing.OPEN


def erased_at(kid: UUID) -> datetime | None:
    """Since when a data subject is erased."""
    return SubjectKey.objects.filter(pk=kid).values_list("destroyed_at", flat=True).first()


def opened(row: Disclosure) -> bytes:
    """The document behind a link, to whoever has it: counted, and recorded before it is handed out.

    Raises LinkEnded, LinkErased (with `since`), access.log.NotRecorded, and as making.entry.
    """
    match standing(row):
        case Standing.ERASED:
            since = erased_at(row.kid)
            raise LinkErased(f"since {since:%Y-%m-%d %H:%M} UTC", since=since.isoformat() if since else "")
        case Standing.EXPIRED | Standing.REVOKED as ended:
            raise LinkEnded(f"it has {'run out' if ended is Standing.EXPIRED else 'been taken back'}")
        case _:
            pass
    data = document(row)
    access.by_link(row.tenant_id, row.pk, Seen(row.session, row.team_id, row.first, row.last))
    Disclosure.objects.filter(pk=row.pk).update(opened=F("opened") + 1, opened_at=now())
    return data


def document(row: Disclosure) -> bytes:
    """What is disclosed, with its proof, and nothing else: no guidance, no private values.

    Raises as making.entry.
    """
    shows = visibility.of_outsider(row.session).fields_shown
    match What(row.what):
        case What.ENTRY:
            return making.entry(row.session, row.first, shows=shows)
        case What.FIELD:
            return making.entry(row.session, row.first, shows=shows, pointers=[row.pointer])
        case What.SESSION if ledger.read_head(row.session).size == row.last + 1:
            return making.complete(row.session, shows=shows)
        case _:
            return making.extract(row.session, row.first, row.last + 1, shows=shows)


def seal_reason(pk: UUID, kid: UUID, reason: str) -> bytes:
    """Why something was disclosed, under the key of whom it is about."""
    return keys.seal(kid, f"{SEALED}/{pk}", reason.encode())


def reason_of(row: Disclosure) -> str:
    """Why; empty once the data subject was erased."""
    try:
        return keys.unseal(row.kid, f"{SEALED}/{row.pk}", bytes(row.reason)).decode() if row.reason else ""
    except keys.Erased:
        return ""
