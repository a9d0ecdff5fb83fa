"""Disclosing parts of a session, and taking links back. Nothing here writes to the session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from audit import ledger
from audit.proofs import making
from sessions.core import access, states
from sessions.core.access import Seen
from sessions.core.person import Person, author_of
from sessions.disclosures import content
from sessions.disclosures.content import Standing, UnknownLink, What
from sessions.models.sessions import AgentSession, Disclosure

LONGEST_REASON = 500  # characters
LONGEST_POINTER = 200
MOST_DAYS = 90
USUAL_DAYS = 7


@dataclass(frozen=True, slots=True)
class Made:
    """A disclosure: as a file its `document`, as a link its `token`, which is told to whoever made it only. `repeated`:
    it was made before, under the same idempotency key.
    """

    row: Disclosure
    document: bytes
    token: str
    repeated: bool = False


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
    key: str = "",
) -> Made:
    """Share a part of a session: as a link that ends after so many `days`, or (0) as a file. The same idempotency `key`
    gives the same disclosure: a link its address again, a file made anew of the same entries.

    It needs `disclose` and `read`, and is an entry of the access log. Raises UnknownSession, PermissionDenied, Invalid,
    making.NoSuchEntry, making.NoSuchField, document.TooMany, keys.Erased, ledger.SameKeyOtherCommand.
    """
    place = _may_disclose(user, session)
    _must_be_sound(what, pointer, reason, days)
    made = content.keyed(place.tenant_id, author_of(user).actor, session, key) if key else content.fresh()
    before = Disclosure.objects.filter(pk=made.id).first() if key else None
    if before is not None:
        _must_be_the_same(before, what, pointer, reason.strip(), days, first, last)
        return _told(user, place, before, made.token, content.document(before), repeated=True)
    first, last = _bounds(session, what, first, last)
    row = Disclosure(
        id=made.id,
        tenant_id=place.tenant_id,
        team_id=place.team_id,
        session=session,
        what=what.value,
        first=first,
        last=last,
        pointer=pointer,
        reason=content.seal_reason(made.id, place.kid, reason.strip()),
        kid=place.kid,
        token=content.hashed(made.token) if days else None,
        made_by=author_of(user).actor,
        made_at=now(),
        expires_at=now() + timedelta(days=days) if days else None,
    )
    document = content.document(row)  # what cannot be shown is refused now, not when the link is opened
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:  # the same key at the same time: the other one made it
        return disclose(user, session, what, reason=reason, first=first, last=last, pointer=pointer, days=days, key=key)
    return _told(user, place, row, made.token, document)


def _told(
    user: Person, place: AgentSession, row: Disclosure, token: str, document: bytes, *, repeated: bool = False
) -> Made:
    """What is handed out now, and recorded."""
    seen = [Seen(row.session, place.team_id, row.first, row.last)]
    how = "file" if row.token is None else "link"
    access.note(user, "disclosure", seen, disclosure=str(row.pk), how=f"{how} again" if repeated else how)
    return Made(row, document, token if row.token is not None else "", repeated)


def _must_be_the_same(
    row: Disclosure, what: What, pointer: str, reason: str, days: int, first: int, last: int | None
) -> None:
    """Raises ledger.SameKeyOtherCommand when something else was disclosed under this key."""
    end = first if what is not What.RANGE or last is None else last
    span = (row.first, row.last) if what is What.SESSION else (first, end)
    lasts = (row.expires_at - row.made_at).days if row.expires_at else 0
    asked = (what.value, pointer, days, *span)
    if asked != (row.what, row.pointer, lasts, row.first, row.last) or content.reason_of(row) not in ("", reason):
        raise ledger.SameKeyOtherCommand()


def revoke_disclosure(user: Person, session: UUID, disclosure: UUID) -> Disclosure:
    """Take a link back, for good; one that has ended stays as it is. Raises UnknownSession, PermissionDenied,
    UnknownLink.
    """
    place = _may_disclose(user, session)
    row = Disclosure.objects.filter(pk=disclosure, session=session, token__isnull=False).first()
    if row is None:
        raise UnknownLink()
    if content.standing(row) is Standing.OPEN:
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
