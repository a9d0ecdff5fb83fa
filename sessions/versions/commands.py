"""Naming a point of a session, going back to one, forking, and letting a fork take over. All need `change_state`."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID, uuid5

from agentstate.engine.decide.commands.versions import Fork, Name, Promote, Rollback, Supersede
from agentstate.engine.decide.forks import NotAFork
from agentstate.engine.state.session import SessionState, remembered_by
from agentstate.ids import new_id
from agentstate.people.roles import Permission
from sessions.conversation.commands import KEYS, OtherSessionUnderKey
from sessions.core import children, history, states
from sessions.core.commit import open_session, person_command, together
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, must_may
from sessions.core.projections import Place
from sessions.core.states import Loaded


def name_checkpoint(user: Person, session: UUID, name: str, *, seq: int = -1, key: str = "") -> Committed:
    """Give the state after `seq` entries (-1: the present one) a name. Raises NoSuchPoint, TooManyCheckpoints."""
    _must_change(user, session)
    author = author_of(user, key)
    older = None if seq == -1 else states.as_of(session, seq)
    return person_command(session, Name(name, author.actor, seq, older), author)


def roll_back(user: Person, session: UUID, to: int, *, seen: str, reason: str, key: str = "") -> Committed:
    """Go on from the state after `to` entries. `seen` is the digest of the consequences that the author was shown
    (`queries.rollback_preview`). Raises NoSuchPoint, Outdated, SessionOver, Invalid.
    """
    _must_change(user, session)
    author = author_of(user, key)
    older = states.as_of(session, to)

    def command(loaded: Loaded) -> Rollback:
        children.lock(session)
        found = history.since(session, older, loaded.head.size)
        return Rollback(to, author.actor, reason, seen, older, found)

    return person_command(session, command, author)


def fork(user: Person, session: UUID, *, seq: int = -1, reason: str, key: str = "") -> Committed:
    """Open a session that begins as this one stood after `seq` entries (-1: as it stands). The same key gives the same
    fork. Raises NoSuchPoint, Invalid.
    """
    _must_change(user, session)
    author = author_of(user, key)
    loaded = states.load(session)
    older = loaded.state if seq == -1 else states.as_of(session, seq)
    child = uuid5(KEYS, f"{user.pk}/fork/{key}") if key else new_id()
    command = Fork(str(session), older.seq, author.actor, reason, older)
    place = Place(child, loaded.place.tenant, loaded.place.team, loaded.place.kid)
    return open_session(place, command, author) or _forked_before(child, command)


def _forked_before(child: UUID, command: Fork) -> Committed:
    """The first answer again. Raises OtherSessionUnderKey when the key was used to fork something else."""
    loaded = states.load(child)
    origin = loaded.state.versions.origin
    if origin is None or origin.parent != command.parent:
        raise OtherSessionUnderKey()
    opened = states.as_of(child, 2)
    return Committed(loaded.place, loaded.place.id, 0, 2, opened, repeated=True)


def promote(user: Person, session: UUID, *, reason: str, key: str = "") -> Committed:
    """Let a fork go on in its parent's place. In one transaction the parent ends and the fork may speak, so there is
    no moment at which both do, or neither is told. Raises NotAFork, SessionOver.
    """
    _must_change(user, session)
    author = author_of(user, key)
    origin = states.load(session).state.versions.origin
    if origin is None:
        raise NotAFork()
    parent = UUID(origin.parent)
    older = states.as_of(parent, origin.seq)

    def taking_over(loaded: Mapping[UUID, Loaded]) -> Promote:
        return _promotion(loaded[parent], older, author.actor, reason)

    def giving_way(loaded: Mapping[UUID, Loaded]) -> Supersede:
        return Supersede(str(session), author.actor, reason)

    return together(session, {parent: giving_way, session: taking_over}, author)


def _promotion(parent: Loaded, older: SessionState, by: str, reason: str) -> Promote:
    size = parent.head.size
    children.lock(parent.place.id)
    heard = history.heard(parent.place.id, older.seq, size)
    remembered = remembered_by(parent.state)
    chart = parent.state.chart if parent.state.chart.at != older.chart.at else None
    return Promote(by, reason, size, heard, history.since(parent.place.id, older, size), remembered, chart)


def _must_change(user: Person, session: UUID) -> None:
    must_may(user, session, Permission.CHANGE_STATE)
