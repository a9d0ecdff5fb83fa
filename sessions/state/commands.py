"""Changing a session's state side by side with its agent and others, and settling what clashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid5

from agentstate.engine.decide.commands.scratchpad import Arbitrate, ChangeState, Propose, Vote
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.schemas import Actor
from agentstate.errors import Invalid
from agentstate.ids import new_id
from agentstate.people.models import Membership
from agentstate.people.permissions import require
from agentstate.people.roles import Permission
from sessions.core import states
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, team_of

MOST_BEHIND = 10_000  # entries that a change may not have seen: what it was made on must be folded
CHANGES = UUID("c0a5a1de-8d0e-5b3c-8a3f-1f2e7b9b6d10")  # namespace: the id of a change that is made under a key


def change_state(
    user: Person, session: UUID, *, seen: int, changes: Sequence[PathChange], reason: str = "", key: str = ""
) -> Committed:
    """Change paths of the scratchpad as it stood after `seen` entries. Raises ChangedMeanwhile, NotMergeable,
    NotAWriter, BreaksSchema, BadChange, BadPath, TooManyConflicts, Invalid.
    """
    team = _must_change(user, session)
    author = author_of(user, key)
    size = states.load(session).head.size
    if not 0 < seen <= size or size - seen > MOST_BEHIND:
        raise Invalid(f"got {seen}, want {max(1, size - MOST_BEHIND)} to {size}", field="seen")
    change = uuid5(CHANGES, f"{user.pk}/{session}/{key}") if key else new_id()
    base = states.as_of(session, seen).pad
    actor = _actor(user, team)
    return person_command(
        session, ChangeState(seen, tuple(changes), author.actor, actor, str(change), base, reason), author
    )


def propose_value(
    user: Person,
    session: UUID,
    conflict: str,
    *,
    value: Any = None,
    remove: bool = False,
    reason: str = "",
    key: str = "",
) -> Committed:
    """Propose a value for a contested path, and be for it. Raises NoSuchConflict, ConflictOver, BreaksSchema, ..."""
    team = _must_change(user, session)
    author = author_of(user, key)
    command = Propose(conflict, author.actor, _actor(user, team), value, remove, reason)
    return person_command(session, command, author)


def cast_vote(
    user: Person, session: UUID, conflict: str, *, proposal: str, reason: str = "", key: str = ""
) -> Committed:
    """Be for a proposal, or with an empty one for what stands. Raises NoSuchConflict, NoSuchProposal, ConflictOver."""
    _must_change(user, session)
    author = author_of(user, key)
    return person_command(session, Vote(conflict, proposal, author.actor, reason), author)


def settle(user: Person, session: UUID, conflict: str, *, proposal: str, reason: str, key: str = "") -> Committed:
    """Settle a conflict as a person who may decide and has proposed nothing in it. Raises OwnCause, ConflictOver."""
    team = _must_change(user, session)
    require(user, Permission.DECIDE, team)
    author = author_of(user, key)
    return person_command(session, Arbitrate(conflict, proposal, author.actor, reason), author)


def _must_change(user: Person, session: UUID) -> UUID:
    team = team_of(user, session)
    require(user, Permission.CHANGE_STATE, team)
    return team


def _actor(user: Person, team: UUID) -> Actor:
    """The writer that the state's schema may name: staff, by the roles that they have in this team."""
    roles = Membership.objects.filter(user=user.pk, team=team).values_list("role", flat=True)
    return Actor("staff", tuple(sorted(set(roles))))
