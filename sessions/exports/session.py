"""Taking a session out of the house: the permission, the record of it, and the bundle that `audit.export` writes.

An export is masked (sessions/core/masks.py) unless somebody with the permission to unmask says why it must not be.
"""

from __future__ import annotations

from typing import IO, BinaryIO, cast
from uuid import UUID

from agentstate.errors import Broken, Invalid
from agentstate.people.permissions import PermissionDenied
from audit import signer
from audit.export import bundle
from audit.export.gather import Installation, gather
from audit.export.source import LedgerSource
from sessions.core import access, alterations, masks
from sessions.core.session_lines import Person
from sessions.core.visibility import may_export, may_open

LONGEST_REASON = 300  # characters


def write(user: Person, session: UUID, out: IO[bytes], *, unmask: bool = False, reason: str = "") -> bundle.Summary:
    """Write the bundle of `session` to `out`, recorded before the first byte.

    Raises as `may_export`, and with `unmask` PermissionDenied to those who may not, Invalid without a reason.
    """
    try:
        team = may_open(user, session) if unmask else may_export(user, session)
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
    remarks, source = alterations.remarks(session), LedgerSource(session)
    try:
        return bundle.write(
            session, source, gather(session), Installation(), file, withhold, shows=shows, remarks=remarks
        )
    except Broken as error:  # what the signer refuses cannot be taken out: then by the reason's name
        altered = alterations.instead_of(error, {"session": session})
        raise alterations.SessionAltered(f"{altered.detail} {error}") if altered else error from None


def checked(reason: str) -> str:
    """The reason for unmasking. Raises Invalid when it is empty or too long."""
    said = reason.strip()
    if not said or len(said) > LONGEST_REASON:
        raise Invalid(f"say in 1 to {LONGEST_REASON} characters why values have to be shown", field="reason")
    return said


def key(user: Person, session: UUID) -> str:
    """The log's public key, as the verifier takes it. Raises as `may_export`."""
    may_export(user, session)
    return signer.vkey()
