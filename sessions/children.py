"""The sessions that do calls of another: what stops that one for good or for a while does the same to them.

Locks are taken from a session to those that do its calls, never the other way, so no two commands wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from agentstate.engine import events as ev
from agentstate.engine.decide import Cancel, Command, Pause, Resume
from agentstate.engine.state import SessionState
from audit import keys, ledger
from sessions import states
from sessions.states import Loaded

# `NOT delivered` is true of every session whose end was not told to its parent, and is what the index holds.
_LIVE = """SELECT id FROM agent_sessions_agentsession
 WHERE parent = %(session)s AND NOT delivered AND ended_at IS NULL ORDER BY id"""

_LOCK = """WITH RECURSIVE below AS (
  SELECT id FROM agent_sessions_agentsession WHERE parent = %(session)s AND NOT delivered AND ended_at IS NULL
  UNION SELECT s.id FROM agent_sessions_agentsession s JOIN below b ON s.parent = b.id
   WHERE NOT s.delivered AND s.ended_at IS NULL)
 SELECT h.log FROM audit_head h WHERE h.log IN (SELECT id FROM below) ORDER BY h.log FOR UPDATE"""

Answer = Callable[[SessionState], Command | None]  # what a session does because of its parent; None: nothing


def lock(session: UUID) -> None:
    """Keep the sessions that do calls of this one, and theirs, from appending until the transaction ends: what they
    have done is then known.
    """
    ledger.run(_LOCK, {"session": session})


def answering(session: UUID, events: Sequence[ev.AnyEvent]) -> Iterator[tuple[Loaded, Command]]:
    """What follows from `events` of a session for those that do its calls, each of them locked."""
    answer = next((found for event in events if (found := _answer(event)) is not None), None)
    if answer is None:
        return
    for (child,) in ledger.run(_LIVE, {"session": session}):
        try:
            loaded = states.load(child, lock=True)
        except keys.Erased:  # nothing of it can run any more
            continue
        if not loaded.state.ended and (command := answer(loaded.state)) is not None:
            yield loaded, command


def _answer(event: ev.AnyEvent) -> Answer | None:
    match event:
        case ev.SessionEnded(reason=reason, by=by) | ev.SessionCancelled(reason=reason, by=by):
            return lambda state: Cancel(f"the session that asked for it has ended: {reason}", by)
        case ev.SessionRolledBack(reason=reason, by=by):
            return lambda state: Cancel(f"the session that asked for it was rolled back: {reason}", by)
        case ev.SessionPaused(reason=reason, by=by):
            return lambda state: None if state.paused_at else Pause(reason, by, with_parent=True)
        case ev.SessionResumed(by=by):
            return lambda state: Resume(by) if state.paused_with_parent else None
        case _:
            return None
