"""Undoing what a rollback left standing."""

from __future__ import annotations

from agentstate.people.models import User
from sessions.compensation import commands, queries
from sessions.compensation import schemas as forms
from sessions.http.operations import command, get
from sessions.http.parameters import SessionId


@get()
def list_undoable(user: User, session: SessionId) -> forms.UndoableEffects:
    """What the latest rollback left standing outside and a call could undo, the newest first."""
    line = queries.undoable_of(user, session)
    return forms.UndoableEffects(line.rollback if line.rollback >= 0 else None, line.effects)


compensate = command(
    "compensate",
    commands.compensate,
    forms.Compensate,
    "Order that effects be undone: the newest first, one after the other, each call judged by policy as any other."
    " Without `calls` all that can be.",
)
