"""Taking a session out of the house: the permission, the record of it, and the bundle that `audit.export` writes."""

from __future__ import annotations

from typing import IO, BinaryIO, cast
from uuid import UUID

from agentstate.people.permissions import Permission, PermissionDenied
from audit import signer
from audit.export import bundle
from audit.export.gather import Installation, gather
from audit.export.source import LedgerSource
from sessions import access, states
from sessions.models import AgentSession
from sessions.queries import Person


def write(user: Person, session: UUID, out: IO[bytes]) -> bundle.Summary:
    """Write the bundle of `session` to `out`, recorded before the first byte. Raises as `may_export`."""
    try:
        team = may_export(user, session)
    except PermissionDenied:
        access.refused(user, "export", session)
        raise
    access.note(user, "export", [access.Seen(session, team)])
    return bundle.write(session, LedgerSource(session), gather(session), Installation(), cast(BinaryIO, out))


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
