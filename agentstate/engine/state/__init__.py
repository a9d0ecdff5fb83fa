"""`SessionState` and `evolve(state, event, at)`: a session's state is the fold of its events, nothing else.

The state is immutable and bounded: it holds the recent window of messages and the calls and requests that are open or
ended lately, so that opening a session costs the same at event 100,000 as at event 100.

`session` says what it holds; `conversation`, `runs`, `calls` and `requests` what each event changes; `snapshot` its
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.lifecycle import SESSION, CallStatus, IllegalMove, SessionMove, SessionStatus, move
from agentstate.engine.remembered import KEPT_REFUSALS
from agentstate.engine.speech import SAY
from agentstate.engine.state import (
    alerts,
    approved_inputs,
    calls,
    compensation,
    conversation,
    goals,
    grants,
    interventions,
    looping,
    memory,
    plans,
    requests,
    runs,
    schema,
    subjects,
    supervision,
    timers,
    value_authors,
)
from agentstate.engine.state import talk as talks
from agentstate.engine.state import user as users
from agentstate.engine.state.calls import KEPT_CALLS
from agentstate.engine.state.changes import (
    conflict_ended,
    conflict_opened,
    state_changed,
    value_proposed,
    vote_cast,
)
from agentstate.engine.state.charts import chart_moved
from agentstate.engine.state.compensation import has_its_turn
from agentstate.engine.state.data import data_added
from agentstate.engine.state.forks import fork_promoted, message_drafted, session_forked, session_superseded
from agentstate.engine.state.proving import value_proved
from agentstate.engine.state.put_back import rolled_back
from agentstate.engine.state.session import Call, Request, SessionState, calls_in, digest_of, may_begin, pending
from agentstate.engine.state.snapshot import Parts, from_parts, from_snapshot, to_parts, to_snapshot
from agentstate.engine.state.versions import checkpoint_named, marked
from agentstate.errors import Broken

__all__ = [
    "KEPT_CALLS",
    "KEPT_REFUSALS",
    "Call",
    "Parts",
    "Request",
    "SessionState",
    "calls_in",
    "digest_of",
    "evolve",
    "evolve_erased",
    "fold",
    "from_parts",
    "from_snapshot",
    "may_begin",
    "pending",
    "to_parts",
    "to_snapshot",
]

_CHANGES: Mapping[type, Callable[[SessionState, Any, str], SessionState]] = {
    ev.SessionOpened: conversation.session_opened,
    ev.MessageAdded: conversation.message_added,
    ev.SessionPaused: conversation.session_paused,
    ev.SessionResumed: conversation.session_resumed,
    ev.SessionCancelled: conversation.session_ended,
    ev.SessionEnded: conversation.session_ended,
    ev.SessionFailed: conversation.session_failed,
    ev.SessionExpired: conversation.session_expired,
    ev.SessionReopened: conversation.session_reopened,
    ev.PayloadPruned: conversation.payload_pruned,
    ev.SnapshotRecorded: conversation.snapshot_recorded,
    ev.SessionSealed: conversation.session_sealed,
    ev.TalkDeclared: talks.talk_declared,
    ev.TopicOpened: talks.topic_opened,
    ev.TopicSwitched: talks.topic_switched,
    ev.TopicResumed: talks.topic_resumed,
    ev.TopicClosed: talks.topic_closed,
    ev.ReferenceCorrected: talks.reference_corrected,
    ev.ItemPinned: memory.item_pinned,
    ev.ItemUnpinned: memory.item_unpinned,
    ev.ItemRated: memory.item_rated,
    ev.SummaryRequested: memory.summary_requested,
    ev.SummaryMade: memory.summary_made,
    ev.CheckpointNamed: checkpoint_named,
    ev.StateChanged: state_changed,
    ev.ConflictOpened: conflict_opened,
    ev.ValueProposed: value_proposed,
    ev.VoteCast: vote_cast,
    ev.ConflictEnded: conflict_ended,
    ev.SessionRolledBack: rolled_back,
    ev.SessionForked: session_forked,
    ev.MessageDrafted: message_drafted,
    ev.ForkPromoted: fork_promoted,
    ev.SessionSuperseded: session_superseded,
    ev.PlanProposed: plans.plan_proposed,
    ev.PlanCommitted: plans.plan_committed,
    ev.InstanceProposed: plans.instance_proposed,
    ev.InstanceOpened: plans.instance_opened,
    ev.SubjectErased: subjects.subject_erased,
    ev.CallReadied: plans.call_readied,
    ev.CallsDropped: plans.calls_dropped,
    ev.RoundEnded: plans.round_ended,
    ev.CallDelegated: plans.delegated,
    ev.TaskTaken: plans.task_taken,
    ev.TaskCustomersAdded: plans.task_customers_added,
    ev.TaskDelivered: plans.task_delivered,
    ev.DelegateCounted: plans.delegate_counted,
    ev.DelegateOpened: looping.delegate_opened,
    ev.DelegateEnded: looping.delegate_ended,
    ev.GoalsSet: goals.goals_set,
    ev.DataAdded: data_added,
    ev.RunStarted: runs.run_started,
    ev.RunRested: runs.run_rested,
    ev.RunStopped: looping.run_stopped,
    ev.RunGranted: looping.run_granted,
    ev.RunInterrupted: looping.run_interrupted,
    ev.CircleNoticed: looping.circle_noticed,
    ev.MessageQueued: looping.message_queued,
    ev.MessageRefused: looping.message_refused,
    ev.ModelRequested: runs.model_requested,
    ev.ModelAnswered: runs.model_answered,
    ev.ModelFailed: runs.model_failed,
    ev.CallAllowed: calls.call_allowed,
    ev.CallRefused: calls.call_refused,
    ev.CallWithdrawn: calls.call_withdrawn,
    ev.ToolIntended: calls.tool_intended,
    ev.ToolReturned: calls.tool_returned,
    ev.ToolFailed: calls.tool_failed,
    ev.CallDoubted: interventions.call_doubted,
    ev.CallIntervened: interventions.call_intervened,
    ev.CompensationOrdered: compensation.compensation_ordered,
    ev.SessionRetried: interventions.session_retried,
    ev.ApprovalRequested: requests.approval_requested,
    ev.DecisionMade: requests.decision_made,
    ev.RequestEscalated: requests.request_escalated,
    ev.RequestHeld: requests.request_held,
    ev.RequestUndone: requests.request_undone,
    ev.RequestClaimed: requests.request_claimed,
    ev.RequestReleased: requests.request_released,
    ev.RequestEnded: requests.request_ended,
    ev.GrantGiven: grants.grant_given,
    ev.GrantRevoked: grants.grant_revoked,
    ev.UserAdapted: users.user_adapted,
    ev.ChartMoved: chart_moved,
    ev.StateMigrated: schema.state_migrated,
    ev.StatePruned: schema.state_pruned,
    ev.ValueProved: value_proved,
    ev.SessionTakenOver: supervision.session_taken_over,
    ev.SessionPassedOn: supervision.session_passed_on,
    ev.SessionHandedBack: supervision.session_handed_back,
    ev.GuidanceGiven: supervision.guidance_given,
    ev.ModelDropped: supervision.model_dropped,
    ev.HumanRequested: supervision.human_requested,
    ev.HumanWithdrawn: supervision.human_withdrawn,
    ev.WorkAssigned: supervision.work_assigned,
    ev.TimerSet: timers.timer_set,
    ev.TimerCancelled: timers.timer_gone,
    ev.TimerFired: timers.timer_gone,
    ev.TriggerFired: timers.trigger_fired,
    ev.AlertRaised: alerts.alert_raised,
    ev.AlertAcknowledged: alerts.alert_acknowledged,
    ev.AlertEscalated: alerts.alert_escalated,
    ev.AlertClosed: alerts.alert_closed,
}


_ACTING = frozenset((CallStatus.RUNNING, CallStatus.READY))


def fold(stored: Iterable[tuple[ev.AnyEvent, str]], state: SessionState | None = None) -> SessionState:
    """The state after `stored`: pairs of an event and its envelope's time."""
    state = state or SessionState()
    for event, at in stored:
        state = evolve(state, event, at)
    return state


# The house among itself: nothing happened in the session, which is as idle after it as before.
UNNOTICED = (
    ev.SnapshotRecorded,
    ev.PayloadPruned,
    ev.AlertRaised,
    ev.AlertAcknowledged,
    ev.AlertEscalated,
    ev.AlertClosed,
)


def evolve(state: SessionState, event: ev.AnyEvent, at: str) -> SessionState:
    """The state after `event`, which happened at `at`. Total over what `decide` emits; raises Broken otherwise."""
    change = _CHANGES.get(type(event))
    if change is None:
        raise Broken(f"no one knows how {ev.kind_of(event)} changes a session")
    try:
        changed = plans.followed(state, change(state, event, at), event, at)
        changed = approved_inputs.watched(state, changed, event)
        changed = value_authors.attributed(state, changed, event)
        changed = memory.recollected(state, changed, event, at)
        if not subjects.kid_of(state, event):  # what others' data says is no part of this conversation
            changed = talks.followed(state, changed, event, at)
        changed = marked(state, changed, event, at)
        last_at = state.last_at if isinstance(event, UNNOTICED) else at
        return replace(changed, seq=state.seq + 1, last_at=last_at, status=_status(changed, event))
    except (IllegalMove, KeyError) as error:
        raise Broken(f"{ev.kind_of(event)} at seq {state.seq} cannot have happened: {error}") from error


def evolve_erased(state: SessionState, kid: str, at: str) -> SessionState:
    """The state after an entry of which nothing but its envelope is left: its data subject, known by the key `kid`, was
    erased. The session's own customer was not, or there would be no state.
    """
    changed = subjects.passed_over(state, kid)
    status = changed.status if changed.ended or changed.paused_at else move(SESSION, changed.status, _moved(changed))
    return replace(changed, seq=state.seq + 1, last_at=at, status=status)


_ASKED: Mapping[type[ev.AnyEvent], SessionMove] = {
    ev.SessionPaused: SessionMove.PAUSE,
    ev.SessionResumed: SessionMove.RESUME,
    ev.SessionCancelled: SessionMove.CANCEL,
    ev.SessionEnded: SessionMove.END,
}


def _status(state: SessionState, event: ev.AnyEvent) -> SessionStatus:
    """The lifecycle status that the state amounts to, reached by a legal move."""
    asked = _ASKED.get(type(event))
    if asked is SessionMove.RESUME:
        return move(SESSION, move(SESSION, state.status, asked), _moved(state))
    if asked is not None:
        return move(SESSION, state.status, asked)
    if state.ended or state.paused_at:
        return state.status  # a result that comes after the end, or meanwhile, is recorded and moves nothing
    return move(SESSION, state.status, _moved(state))


def _acts(state: SessionState) -> bool:
    """Whether a call runs or is about to."""
    if state.taken_by:
        return any(call.status in _ACTING and may_begin(state, call) for call in state.calls.values())
    acting = [call for call in state.calls.values() if call.status in _ACTING]
    return bool(state.plans.ready) or any(call.tool != SAY or has_its_turn(state, call) for call in acting)


def _moved(state: SessionState) -> SessionMove:
    if state.failure:
        return SessionMove.FAIL
    if _acts(state):
        return SessionMove.ACT
    if pending(state) or calls_in(state, CallStatus.DOUBTED):
        return SessionMove.WAIT
    if (state.asking or state.owes) and not state.taken_by:
        return SessionMove.ASK
    return SessionMove.EXPIRE if state.expired_at else SessionMove.REST
