"""Data messages: values that people and callers put beside a session's state."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from agentstate.engine.decide.commands.conversation import AddData
from agentstate.engine.scratchpad import messages
from agentstate.people.roles import Permission
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, must_may


def add_data(user: Person, session: UUID, message: dict[str, Any], *, key: str = "") -> Committed:
    """Add a data message in its notation, `{type: "data", kind?, schema?, data, _instance?}`. Raises BadMessage,
    BadSchema, BreaksSchema, TooMuchData, SessionOver.
    """
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    read = messages.read(message)
    # Bounded and readable before it is hashed as a command.
    messages.judged(None, messages.Data(read.data, read.kind))
    return person_command(session, AddData(read.kind, read.data, author.actor, read.schema, read.instance), author)
