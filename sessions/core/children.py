"""The sessions that do calls of another: what stops that one for good or for a while does the same to them, and who
speaks as the customer in it approves nothing in them.

Locks are taken from a session to those that do its calls, never the other way, so no two commands wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from agentstate.engine import events as ev
from agentstate.engine.decide import Command, tasks
from agentstate.engine.state.session import SessionState
from audit import keys, ledger
from sessions.core import states
from sessions.core.states import Loaded

# `NOT delivered` is true of every session whose end was not told to its parent, and is what the index holds.
_LIVE = """SELECT id FROM agent_sessions_agentsession
 WHERE parent = %(session)s AND NOT delivered AND ended_at IS NULL ORDER BY id"""

_LOCK = """WITH RECURSIVE below AS (
  SELECT id FROM agent_sessions_agentsession WHERE parent = %(session)s AND NOT delivered AND ended_at IS NULL
  UNION SELECT s.id FROM agent_sessions_agentsession s JOIN below b ON s.parent = b.id
   WHERE NOT s.delivered AND s.ended_at IS NULL)
 SELECT h.log FROM audit_head h WHERE h.log IN (SELECT id FROM below) ORDER BY h.log FOR UPDATE"""


def lock(session: UUID) -> None:
    """Keep the sessions that do calls of this one, and theirs, from appending until the transaction ends: what they
    have done is then known.
    """
    ledger.run(_LOCK, {"session": session})


def answering(
    session: UUID, before: SessionState, after: SessionState, events: Sequence[ev.AnyEvent]
) -> Iterator[tuple[Loaded, Command]]:
    """What follows from `events` of a session, between these states of it, for those that do its calls, each locked."""
    cause = next((event for event in events if isinstance(event, tasks.Reaching)), None)
    spoke = tasks.new_customers(before, after)
    if cause is None and not spoke:
        return
    for (child,) in ledger.run(_LIVE, {"session": session}):
        try:
            loaded = states.load(child, lock=True)
        except keys.Erased:  # nothing of it can run any more
            continue
        if cause is not None:  # no command that leads to one adds a message
            command = tasks.because_of_parent(cause, after, loaded.state)
        else:
            command = tasks.because_of_customers(spoke, loaded.state)
        if command is not None:
            yield loaded, command
