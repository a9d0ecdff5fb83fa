"""What events change when state is changed side by side. A function an event, named like it."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.merge.kept import KEPT_CHANGES, KEPT_ENDED, KEPT_MARKS, Changes, Conflict
from agentstate.engine.merge.paths import put, removed
from agentstate.engine.merge.three_way import written
from agentstate.engine.state.session import SessionState


def state_changed(state: SessionState, event: ev.StateChanged, at: str) -> SessionState:
    fresh = {each.path: each.marks for each in event.writes if each.marks}
    older = {path: marks for path, marks in state.changes.marks.items() if path not in fresh}
    marks = dict(list({**older, **fresh}.items())[-KEPT_MARKS:])
    return replace(
        state,
        pad=written(state.pad, event.writes),
        changes=replace(_applied(state.changes, event.change), marks=marks),
    )


def _applied(changes: Changes, change: str) -> Changes:
    if change in changes.applied:
        return changes
    return replace(changes, applied=(*changes.applied, change)[-KEPT_CHANGES:])


def conflict_opened(state: SessionState, event: ev.ConflictOpened, at: str) -> SessionState:
    opened = Conflict(
        event.conflict,
        state.seq,
        at,
        event.path,
        event.rule,
        event.quorum,
        event.declared,
        event.base,
        event.standing,
        (event.proposal,),
        {event.proposal.by: event.proposal.id},
    )
    return _with(replace(state, changes=_applied(state.changes, event.change)), opened)


def value_proposed(state: SessionState, event: ev.ValueProposed, at: str) -> SessionState:
    conflict = state.changes.conflicts[event.conflict]
    return _with(state, replace(conflict, proposals=(*conflict.proposals, event.proposal)))


def vote_cast(state: SessionState, event: ev.VoteCast, at: str) -> SessionState:
    conflict = state.changes.conflicts[event.conflict]
    return _with(state, replace(conflict, votes={**conflict.votes, event.by: event.proposal}))


def conflict_ended(state: SessionState, event: ev.ConflictEnded, at: str) -> SessionState:
    """The chosen value holds; where nothing was chosen, what stands goes on standing."""
    conflict = state.changes.conflicts[event.conflict]
    state = _with(state, replace(conflict, status=event.outcome, chosen=event.proposal, by=event.by))
    if not event.proposal:
        return state
    pad = put(state.pad, conflict.path, event.value[0]) if event.value else removed(state.pad, conflict.path)
    return replace(state, pad=pad)


def _with(state: SessionState, conflict: Conflict) -> SessionState:
    conflicts = {**state.changes.conflicts, conflict.id: conflict}
    ended = [each.id for each in conflicts.values() if each.status != "open"]
    gone = ended[: max(0, len(ended) - KEPT_ENDED)]
    kept = {key: each for key, each in conflicts.items() if key not in gone}
    return replace(state, changes=replace(state.changes, conflicts=kept))


def put_back(now: Changes, older: Changes) -> Changes:
    """After a rollback: the marks of then, and of now which changes have arrived and how conflicts ended."""
    return replace(now, marks=older.marks)
