"""Putting a value of a session's state on record, to be shown to others with its proof."""

from __future__ import annotations

from uuid import UUID

from agentstate.people.permissions import PermissionDenied, can
from agentstate.people.roles import Permission
from sessions.core import access
from sessions.core.access import Seen
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, must_may, team_of
from sessions.proofs import values


def prove_value(user: Person, session: UUID, path: str, *, of: int = 0, key: str = "") -> tuple[Committed, bytes]:
    """What was written, and the proof of the value at `path` as the state has it now, or had it after `of` entries.

    It needs `read`, and as it writes an entry `change_state` or `speak_as_customer`. Raises UnknownSession,
    PermissionDenied, BadPath, NoSuchValue, PrivateValue, ValueTooLarge, NoSuchPoint, SessionOver, keys.Erased.
    """
    team = team_of(user, session)
    must_may(user, session, Permission.READ)
    if not can(user, Permission.CHANGE_STATE, team) and not can(user, Permission.SPEAK_AS_CUSTOMER, team):
        needed = Permission.CHANGE_STATE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    committed = person_command(session, values.factory(path, of), author_of(user, key))
    proof = values.proof_of(committed)
    access.note(user, "proof", [Seen(session, team, committed.first, committed.seq - 1)])
    return committed, proof
