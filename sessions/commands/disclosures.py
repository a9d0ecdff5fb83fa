"""Disclosing parts of a session, and taking links back. Nothing here writes to the session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.ids import new_id
from agentstate.people.permissions import Permission, PermissionDenied
from audit import ledger
from audit.proofs import making
from sessions import access, disclosing, states
from sessions.access import Seen
from sessions.commands.person import Person, author_of
from sessions.disclosing import Standing, UnknownLink, What
from sessions.models import AgentSession, Disclosure

LONGEST_REASON = 500  # characters
LONGEST_POINTER = 200
MOST_DAYS = 90
USUAL_DAYS = 7


@dataclass(frozen=True, slots=True)
class Made:
    """A disclosure: as a file its `document`, as a link its `token`, which is told once."""

    row: Disclosure
    document: bytes
    token: str


def disclose(
    user: Person,
    session: UUID,
    what: What,
    *,
    reason: str,
    first: int = 0,
    last: int | None = None,
    pointer: str = "",
    days: int = 0,
) -> Made:
    """Share a part of a session: as a link that ends after so many `days`, or (0) as a file.

    It needs `disclose` and `read`, and is an entry of the access log. Raises UnknownSession, PermissionDenied, Invalid,
    making.NoSuchEntry, making.NoSuchField, document.TooMany, keys.Erased.
    """
    place = _may_disclose(user, session)
    first, last = _bounds(session, what, first, last)
    _must_be_sound(what, pointer, reason, days)
    pk = new_id()
    row = Disclosure(
        id=pk,
        tenant_id=place.tenant_id,
        team_id=place.team_id,
        session=session,
        what=what.value,
        first=first,
        last=last,
        pointer=pointer,
        reason=disclosing.seal_reason(pk, place.kid, reason.strip()),
        kid=place.kid,
        made_by=author_of(user).actor,
        made_at=now(),
        expires_at=now() + timedelta(days=days) if days else None,
    )
    document = disclosing.document(row)  # what cannot be shown is refused now, not when the link is opened
    token = disclosing.new_token() if days else ""
    row.token = disclosing.hashed(token) if token else None
    row.save(force_insert=True)
    seen = [Seen(session, place.team_id, first, last)]
    access.note(user, "disclosure", seen, disclosure=str(pk), how="link" if days else "file")
    return Made(row, document, token)


def revoke_disclosure(user: Person, session: UUID, disclosure: UUID) -> Disclosure:
    """Take a link back, for good; one that has ended stays as it is. Raises UnknownSession, PermissionDenied,
    UnknownLink.
    """
    place = _may_disclose(user, session)
    row = Disclosure.objects.filter(pk=disclosure, session=session, token__isnull=False).first()
    if row is None:
        raise UnknownLink()
    if disclosing.standing(row) is Standing.OPEN:
        row.revoked_at, row.revoked_by = now(), author_of(user).actor
        Disclosure.objects.filter(pk=row.pk, revoked_at=None).update(
            revoked_at=row.revoked_at, revoked_by=row.revoked_by
        )
        seen = [Seen(session, place.team_id, row.first, row.last)]
        access.note(user, "disclosure", seen, disclosure=str(row.pk), how="revoked")
    return row


def _may_disclose(user: Person, session: UUID) -> AgentSession:
    row = AgentSession.objects.filter(pk=session).only("team_id", "tenant_id", "kid").first()
    if row is None or not access.may(user, Permission.SEE, session, row.team_id):
        raise states.UnknownSession()
    for needed in (Permission.READ, Permission.DISCLOSE):
        if not access.may(user, needed, session, row.team_id):
            raise PermissionDenied(f"This needs the permission {needed.value}.", permission=needed.value)
    return row


def _bounds(session: UUID, what: What, first: int, last: int | None) -> tuple[int, int]:
    size = ledger.read_head(session).size
    if what is What.SESSION:
        return 0, size - 1
    end = first if what is not What.RANGE or last is None else last
    if not 0 <= first <= end < size:
        raise making.NoSuchEntry(f"got {first} to {end}, the session has entries 0 to {size - 1}")
    return first, end


def _must_be_sound(what: What, pointer: str, reason: str, days: int) -> None:
    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise Invalid(f"say why, in at most {LONGEST_REASON} characters", field="reason")
    if (what is What.FIELD) != bool(pointer) or len(pointer) > LONGEST_POINTER:
        raise Invalid("want the place of a field, as /text, and only for a field", field="pointer")
    if not 0 <= days <= MOST_DAYS:
        raise Invalid(f"want 0 to {MOST_DAYS}", field="days")
