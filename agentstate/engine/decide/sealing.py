"""Sealing: the last leaf of a session's log. After it nothing follows but a tombstone, which seals again.

The erasure of the session's customer closes a session that lives: what waits is withdrawn, what runs is given up, the
conversation ends, and all of it is one commit with the seal.

A session that never ends is pruned too: a state that was recorded stands for the entries whose payloads go.
"""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.plans import EraseSubject
from agentstate.engine.decide.commands.session import EraseCustomer, PruneHistory, PrunePayloads, Seal
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.withdrawals import withdrawn
from agentstate.engine.handlers import command_handler
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.session import SessionState, calls_in
from agentstate.engine.state.subjects import kids
from agentstate.errors import Invalid, NotFound, Refused

ERASED = "the data subject is erased"
SEALED = "the session is sealed"
TOMBSTONES = (EraseCustomer, EraseSubject, PrunePayloads)


class NotEnded(Refused):
    """Only a session that has ended can be sealed."""

    code = "not_ended"
    remedy = "End the session first."


@command_handler(Seal)
def sealed(command: Seal, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The seal; a call that still runs is given up with it. Raises NotEnded, SessionSealed."""
    _must_have_ended(state)
    return [*_given_up(state, SEALED), ev.SessionSealed("asked", command.by)]


@command_handler(EraseCustomer)
def customer_erased(command: EraseCustomer, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The end of all that is open, the erasure and the seal. Nothing when that was recorded before."""
    if state.opened is None:
        raise NotFound("there is no such session")
    if state.sealed == "erased":
        return []
    ended = [] if state.ended else [ev.SessionEnded(ERASED, command.by)]
    return [
        *withdrawn(state, ERASED, "erased", command.by),
        *_given_up(state, ERASED),
        *ended,
        ev.SubjectErased(command.kid),
        ev.SessionSealed("erased", command.by),
    ]


@command_handler(PrunePayloads)
def payloads_pruned(command: PrunePayloads, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The tombstone over everything so far, and the seal. Nothing when it was pruned or erased before."""
    _must_have_ended(state)
    if state.sealed in ("erased", "pruned"):
        return []
    given_up = _given_up(state, SEALED)
    last = state.seq + len(given_up) - 1
    pruned = ev.PayloadPruned((ev.Span(0, last),), command.retention, command.due)
    return [*given_up, pruned, ev.SessionSealed("pruned", "")]


class OthersInIt(Refused):
    """The session holds data of other data subjects, which no state of its own may keep."""

    code = "others_in_it"


@command_handler(PruneHistory)
def history_pruned(command: PruneHistory, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The state that stands for the first entries, and the tombstone over them; the session goes on. Raises
    SessionOver, OthersInIt, Invalid.
    """
    must_live(state)
    if kids(state) or state.plans.erased:
        raise OthersInIt()
    if not 0 < command.upto <= state.seq:
        raise Invalid(f"got {command.upto}, want 1 to {state.seq} entries", field="upto")
    return [
        ev.SnapshotRecorded(command.upto, command.digest, command.form),
        ev.PayloadPruned((ev.Span(0, command.upto - 1),), command.retention, command.due),
    ]


def sealed_again(state: SessionState) -> list[ev.AnyEvent]:
    """The seal behind a tombstone of somebody else in a session that was sealed before it."""
    return [ev.SessionSealed("asked", "")] if state.sealed else []


def _must_have_ended(state: SessionState) -> None:
    if state.opened is None:
        raise NotFound("there is no such session")
    if not state.ended:
        raise NotEnded()


def _given_up(state: SessionState, because: str) -> list[ev.AnyEvent]:
    """A call that runs may have done its work already: that nobody will know."""
    return [ev.ToolFailed(call.id, call.attempt, because, False) for call in calls_in(state, CallStatus.RUNNING)]
