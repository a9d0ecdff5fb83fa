"""Taking a session out of the house: the permission, the record of it, and the bundle that `audit.export` writes."""

from __future__ import annotations

from typing import IO, BinaryIO, cast
from uuid import UUID

from agentstate.people.models import User
from agentstate.people.permissions import Permission, can, require
from audit import signer
from audit.export import bundle, record_export
from audit.export.source import LedgerSource
from sessions import states
from sessions.models import AgentSession
from sessions.queries import Person


def write(user: Person, session: UUID, out: IO[bytes]) -> bundle.Summary:
    """Write the bundle of `session` to `out`, recorded before the first byte. Raises as `may_export`."""
    may_export(user, session)
    assert isinstance(user, User)  # nobody else holds a permission
    record_export(session, user.actor)
    return bundle.write(session, LedgerSource(session), signer.local(), cast(BinaryIO, out))


def key(user: Person, session: UUID) -> str:
    """The log's public key, as the verifier takes it. Raises as `may_export`."""
    may_export(user, session)
    return signer.vkey()


def may_export(user: Person, session: UUID) -> None:
    """Return if `user` may export it. Raises UnknownSession to those who may not see it, else PermissionDenied."""
    team = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
    if team is None or not can(user, Permission.SEE, team):
        raise states.UnknownSession()
    require(user, Permission.EXPORT, team)
