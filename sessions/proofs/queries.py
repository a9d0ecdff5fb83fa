"""Proofs for those who may read what they are about. Each is a document that stands alone (docs/proofs.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from agentstate.errors import Invalid
from agentstate.people.models import Team, User
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.roles import Permission
from audit.proofs import making
from audit.proofs.making import Receipt, Tlog
from audit.tlog.tree import HASH_SIZE
from sessions.core import access, masks, states
from sessions.core.access import Seen
from sessions.core.entry_lines import may_read
from sessions.core.session_lines import Person
from sessions.core.visibility import may_open
from sessions.models.sessions import AgentSession

#: what a proof shows of its entries: what a masked export does, all of it, or hashes and kinds alone
Content = Literal["masked", "full", "withheld"]


def entry(user: Person, session: UUID, seq: int, *, content: Content = "masked", pointers: Sequence[str] = ()) -> bytes:
    """One entry. With `pointers` it is opened at these fields alone, as `full` is.

    Raises UnknownSession, PermissionDenied (it needs `read`, to be opened `export` and `unmask`), as making.entry.
    """
    team = may_read(user, session, "proof")
    shows = _shows(user, session, team, "full" if pointers else content)
    found = making.entry(session, seq, shows=shows, pointers=pointers)
    access.note(user, "proof", [Seen(session, team, seq, seq)])
    return found


def extract(user: Person, session: UUID, first: int, last: int, *, content: Content = "masked") -> bytes:
    """The entries from `first` to `last`, none missing. Raises as `entry`, and TooMany."""
    team = may_read(user, session, "proof")
    found = making.extract(session, first, last + 1, shows=_shows(user, session, team, content))
    access.note(user, "proof", [Seen(session, team, first, last)])
    return found


def complete(user: Person, session: UUID, *, content: Content = "masked") -> bytes:
    """All entries, and that none follows. Raises as `extract`."""
    team = may_read(user, session, "proof")
    found = making.complete(session, shows=_shows(user, session, team, content))
    access.note(user, "proof", [Seen(session, team)])
    return found


def _shows(user: Person, session: UUID, team: UUID, content: Content) -> making.Shows | None:
    """What a proof shows of its entries: as a masked export does, unless all or nothing is asked for. All of it is on
    record as unmasked. Raises PermissionDenied.
    """
    if content == "full":
        try:
            may_open(user, session)
        except PermissionDenied:
            access.refused(user, "proof unmasked", session)
            raise
        access.note(user, "proof unmasked", [Seen(session, team)])
        return None
    return making.nothing if content == "withheld" else masks.of_entry


def tlog_files(user: Person, session: UUID, seq: int) -> Tlog:
    """An entry's envelope in formats that others read. Raises as `entry`."""
    team = may_read(user, session, "proof")
    found = making.tlog_files(session, seq)
    access.note(user, "proof", [Seen(session, team, seq, seq)])
    return found


def growth(user: Person, session: UUID, size: int) -> bytes:
    """That the session continues its head of `size` entries: hashes only. Raises UnknownSession, making.NoSuchEntry."""
    _must_see(user, session)
    return making.growth(session, size)


def receipt(user: Person, session: UUID, size: int, root: str, leaf: str) -> bytes:
    """That the session holds what a receipt says; its hashes in hexadecimal. Raises UnknownSession, Invalid,
    making.NotKept.
    """
    _must_see(user, session)
    return making.receipt(Receipt(session, size, _hash(root, "root"), _hash(leaf, "leaf")))


def _hash(text: str, field: str) -> bytes:
    try:
        value = bytes.fromhex(text)
    except ValueError:
        value = b""
    if len(value) != HASH_SIZE or value.hex() != text:
        raise Invalid("want 64 hexadecimal digits", field=field)
    return value


def absence(user: Person, session: UUID) -> bytes:
    """That there is no such session. Only for those from whom no session is hidden: to all others one that they may not
    see and one that is not there are the same. Raises UnknownSession, making.SessionExists.
    """
    team = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
    if team is not None and access.may(user, Permission.SEE, session, team):
        raise making.SessionExists(str(session))
    if not isinstance(user, User) or not sees_all(user):
        raise states.UnknownSession()
    return making.absence(user.tenant_id, session)


def sees_all(user: User) -> bool:
    """Whether `user` sees the sessions of every team."""
    teams = teams_with(user, Permission.SEE)
    return not Team.objects.filter(tenant=user.tenant_id).exclude(pk__in=teams).exists()


def log_growth(user: Person, size: int) -> bytes:
    """That the global log continues its head of `size` leaves; for everybody who is signed in. Raises
    making.NoSuchEntry.
    """
    if not isinstance(user, User):
        raise PermissionDenied("Sign in first.")
    return making.log_growth(user.tenant_id, size)


def _must_see(user: Person, session: UUID) -> None:
    team = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
    if team is None or not access.may(user, Permission.SEE, session, team):
        raise states.UnknownSession()
