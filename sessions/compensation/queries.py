"""What a rollback left standing outside, and a call could undo."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.compensation import undoable
from sessions.core import history
from sessions.core.entry_lines import state_of
from sessions.core.session_lines import Person
from sessions.http.bodies import About
from sessions.tools import registry


class Undoable(msgspec.Struct, frozen=True):
    """One effect, and what the call that undoes it would do."""

    call: str
    tool: str
    seq: Annotated[int, About("the entry of its intent")]
    what: Annotated[str, About("what was done, in the tool's words")]
    undo: Annotated[str, About("what would be done to undo it")]


class UndoableLine(msgspec.Struct, frozen=True):
    """The effects of one rollback, the newest first; `rollback` is the entry of it, -1 when there was none."""

    rollback: int
    effects: tuple[Undoable, ...]


def undoable_of(user: Person, session: UUID) -> UndoableLine:
    """What can be undone since the latest rollback. Raises UnknownSession, PermissionDenied."""
    state = state_of(user, session)
    if not state.versions.rollbacks or state.ended:
        return UndoableLine(-1, ())
    rollback = state.versions.rollbacks[-1].seq
    found = undoable(history.lasting_at(session, rollback), state)
    return UndoableLine(rollback, tuple(_told(each, state.pad) for each in found))


def _told(effect: ev.Lasting, pad: dict[str, object]) -> Undoable:
    return Undoable(effect.call, effect.tool, effect.seq, effect.what or effect.tool, _preview(effect, pad))


def _preview(effect: ev.Lasting, pad: dict[str, object]) -> str:
    tool = registry.find(effect.undo_tool)
    try:
        return tool.preview(effect.undo or {}, pad) if tool is not None else effect.undo_tool
    except Exception:  # a preview that breaks must not hide that it can be undone
        return effect.undo_tool
