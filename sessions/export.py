"""Taking a session out of the house: the permission, the record of it, and the bundle that `audit.export` writes.

An export is masked (sessions/masks.py) unless somebody with the permission to unmask says why it must not be.
"""

from __future__ import annotations

from typing import IO, BinaryIO, cast
from uuid import UUID

from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from audit import signer
from audit.export import bundle
from audit.export.gather import Installation, gather
from audit.export.source import LedgerSource
from sessions import access, masks, states
from sessions.models import AgentSession
from sessions.queries import Person

LONGEST_REASON = 300  # characters


def write(user: Person, session: UUID, out: IO[bytes], *, unmask: bool = False, reason: str = "") -> bundle.Summary:
    """Write the bundle of `session` to `out`, recorded before the first byte.

    Raises as `may_export`, and with `unmask` PermissionDenied to those who may not, Invalid without a reason.
    """
    try:
        team = may_export(user, session)
        if unmask:
            must_unmask(user, session, team)
    except PermissionDenied:
        access.refused(user, "export", session)
        raise
    if unmask:
        access.note(user, "export unmasked", [access.Seen(session, team)], reason=checked(reason))
    access.note(user, "export", [access.Seen(session, team)])
    return plain_write(session, out, masked=not unmask)


def plain_write(
    session: UUID, out: IO[bytes], *, masked: bool = True, withhold: frozenset[str] = frozenset()
) -> bundle.Summary:
    """Write the bundle of `session` to `out`. Whoever calls this has asked for permissions and made the record."""
    shows = masks.shows if masked else None
    file = cast(BinaryIO, out)
    return bundle.write(session, LedgerSource(session), gather(session), Installation(), file, withhold, shows=shows)


def checked(reason: str) -> str:
    """The reason for unmasking. Raises Invalid when it is empty or too long."""
    said = reason.strip()
    if not said or len(said) > LONGEST_REASON:
        raise Invalid(f"say in 1 to {LONGEST_REASON} characters why values have to be shown", field="reason")
    return said


def must_unmask(user: Person, session: UUID, team: UUID) -> None:
    """Raises PermissionDenied to those who may not see personal values in clear."""
    if not access.may(user, Permission.UNMASK, session, team):
        needed = Permission.UNMASK.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)


def key(user: Person, session: UUID) -> str:
    """The log's public key, as the verifier takes it. Raises as `may_export`."""
    may_export(user, session)
    return signer.vkey()


def may_export(user: Person, session: UUID) -> UUID:
    """The session's team, if `user` may export it. Raises UnknownSession to those who may not see it, else
    PermissionDenied.
    """
    team = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
    if team is None or not access.may(user, Permission.SEE, session, team):
        raise states.UnknownSession()
    if not access.may(user, Permission.EXPORT, session, team):
        needed = Permission.EXPORT.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    return team
