"""The data messages of a session, as objects: what they have made by now."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.people.permissions import can
from agentstate.people.roles import Permission
from sessions.core import states, visibility
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person
from sessions.http.bodies import About


class DataLine(msgspec.Struct, frozen=True):
    """The object of one kind, of the session itself or of an instance; `by` sent the newest message."""

    kind: str
    instance: Annotated[str, About("empty: the session itself")]
    value: Annotated[Any, About("private values only for those who may unmask")]
    schema: Annotated[Any, About("null: anything may be written")]
    by: Annotated[str, About("who sent the newest message")]


class DataLines(msgspec.Struct, frozen=True):
    """All of them after `seq` entries."""

    seq: int
    objects: list[DataLine]
    may_change: bool


def data_of(user: Person, session: UUID) -> DataLines:
    """The objects that data messages have made; private values only for those who may unmask, and none of instances of
    another data subject. Raises UnknownSession, PermissionDenied (it needs `read`).
    """
    team = must_read(user, session)
    state = states.load(session).state
    shown = visibility.shown_state(user, session, team, state).plans
    own = [("", shown.own), *((name, part) for name, part in shown.instances.items() if not part.kid)]
    found = [
        DataLine(kind, instance, held.value, held.schema, held.by)
        for instance, part in own
        for kind, held in part.data.items()
    ]
    return DataLines(state.seq, found, can(user, Permission.CHANGE_STATE, team))
