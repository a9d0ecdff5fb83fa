"""`decide(command, state, given) -> events`: the only place where rules live.

A command either becomes one or more events, or is refused with a typed error that names the rule; a refused command
has changed nothing. Deadlines are not judged here: the appending statement compares them with the database's clock.

A file a noun, each with its rules: `conversation`, `runs`, `gates`, `approvals`, `permits`, `calls`, `verdicts`; their
words are in `commands`, `given` and `refusals`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentstate.engine.decide import (
    approvals,
    calls,
    claims,
    conversation,
    data,
    goals,
    memory,
    pausing,
    plans,
    proving,
    runs,
    schema,
    sealing,
    supervision,
    timers,
)
from agentstate.engine.decide import user as users
from agentstate.engine.decide.calls import LOST_RESULTS
from agentstate.engine.decide.changes import arbitrated, changed, proposed, voted
from agentstate.engine.decide.charts import NotAwaited, UnknownSignal, followed, signalled, wound
from agentstate.engine.decide.commands import (
    Adapt,
    AddData,
    AskForPerson,
    Assign,
    HandBack,
    NoPersonNeeded,
    PassOn,
    Speak,
    TakeOver,
    Whisper,
    Answer,
    Arbitrate,
    Ask,
    Begin,
    Cancel,
    CancelTimer,
    ChangeGoals,
    ChangeState,
    Claim,
    Command,
    CorrectReference,
    Decide,
    Delegated,
    EditPlan,
    End,
    EraseCustomer,
    EraseSubject,
    Expire,
    ExpireSession,
    Fail,
    Fit,
    Fork,
    GiveUp,
    InstanceGiven,
    Migrate,
    Name,
    NoAnswer,
    Open,
    Pause,
    Pin,
    Promote,
    Propose,
    ProposePlan,
    Prove,
    Prune,
    PrunePayloads,
    Rate,
    Release,
    Rest,
    Resume,
    Return,
    Ring,
    Rollback,
    Say,
    Seal,
    SetGoals,
    SetTimer,
    SetTopic,
    Signal,
    Summarise,
    Supersede,
    TakeTask,
    Triggered,
    Unpin,
    Vote,
    Wind,
)
from agentstate.engine.decide.conversation import MAX_TEXT
from agentstate.engine.decide.forks import forked, promoted, superseded
from agentstate.engine.decide.gates import REQUEST_SCHEMA
from agentstate.engine.decide.given import Given, ToolFacts
from agentstate.engine.decide.permits import permit_digest
from agentstate.engine.decide.refusals import (
    AlreadyDecided,
    ClaimedByOther,
    DecisionNotAllowed,
    NotYours,
    Outdated,
    SessionOver,
    SessionPaused,
    SessionSealed,
    NotTakenOver,
    TakenByAnother,
    TakenOver,
    UnknownRequest,
)
from agentstate.engine.decide.runs import MAX_CALLS, MAX_STEPS_IN_RUN, MODEL_ATTEMPTS
from agentstate.engine.decide.talk import reference_corrected, topic_set
from agentstate.engine.decide.triggers import triggered
from agentstate.engine.decide.versions import named, rolled_back
from agentstate.engine.events import AnyEvent
from agentstate.engine.state import SessionState
from agentstate.errors import Broken

__all__ = [
    "LOST_RESULTS",
    "MAX_CALLS",
    "MAX_STEPS_IN_RUN",
    "MAX_TEXT",
    "MODEL_ATTEMPTS",
    "REQUEST_SCHEMA",
    "Adapt",
    "AddData",
    "AlreadyDecided",
    "Answer",
    "Arbitrate",
    "Ask",
    "Begin",
    "Cancel",
    "CancelTimer",
    "ChangeGoals",
    "ChangeState",
    "Claim",
    "ClaimedByOther",
    "Command",
    "CorrectReference",
    "Decide",
    "DecisionNotAllowed",
    "Delegated",
    "EditPlan",
    "End",
    "EraseCustomer",
    "EraseSubject",
    "Expire",
    "ExpireSession",
    "Fail",
    "Fit",
    "Fork",
    "GiveUp",
    "Given",
    "InstanceGiven",
    "Migrate",
    "Name",
    "NoAnswer",
    "NotAwaited",
    "NotYours",
    "Open",
    "Outdated",
    "Pause",
    "Pin",
    "Promote",
    "Propose",
    "ProposePlan",
    "Prove",
    "Prune",
    "PrunePayloads",
    "Rate",
    "Release",
    "Rest",
    "Resume",
    "Return",
    "Ring",
    "Rollback",
    "Say",
    "Seal",
    "SessionOver",
    "SessionPaused",
    "SessionSealed",
    "SetGoals",
    "SetTimer",
    "SetTopic",
    "Signal",
    "Summarise",
    "Supersede",
    "TakeTask",
    "ToolFacts",
    "Triggered",
    "UnknownRequest",
    "UnknownSignal",
    "Unpin",
    "Vote",
    "Wind",
    "decide",
    "permit_digest",
    "AskForPerson",
    "Assign",
    "HandBack",
    "NoPersonNeeded",
    "PassOn",
    "Speak",
    "TakeOver",
    "Whisper",
    "NotTakenOver",
    "TakenByAnother",
    "TakenOver",
]

_RULES: Mapping[type[Command], Callable[[Any, SessionState, Given], list[AnyEvent]]] = {
    Open: conversation.opened,
    Say: conversation.said,
    End: conversation.ended,
    ExpireSession: conversation.expired,
    Pause: pausing.paused,
    Resume: pausing.resumed,
    Cancel: pausing.cancelled,
    TakeOver: supervision.taken_over,
    PassOn: supervision.passed_on,
    Speak: supervision.spoken,
    Whisper: supervision.whispered,
    HandBack: supervision.handed_back,
    AskForPerson: supervision.person_asked_for,
    NoPersonNeeded: supervision.no_person_needed,
    Assign: supervision.assigned,
    Seal: sealing.sealed,
    EraseCustomer: sealing.customer_erased,
    PrunePayloads: sealing.payloads_pruned,
    SetTopic: topic_set,
    CorrectReference: reference_corrected,
    Ask: runs.asked,
    Answer: runs.answered,
    NoAnswer: runs.unanswered,
    Rest: runs.rested,
    Begin: calls.begun,
    Return: calls.returned,
    Fail: calls.failed,
    Decide: approvals.decided,
    Expire: approvals.expired,
    Claim: claims.claimed,
    Release: claims.released,
    ProposePlan: plans.proposed,
    EditPlan: plans.edited,
    EraseSubject: plans.subject_erased,
    Delegated: plans.delegated,
    TakeTask: plans.task_taken,
    SetGoals: goals.goals_set,
    ChangeGoals: goals.goals_changed,
    AddData: data.added,
    Name: named,
    ChangeState: changed,
    Propose: proposed,
    Vote: voted,
    Arbitrate: arbitrated,
    Rollback: rolled_back,
    Fork: forked,
    Promote: promoted,
    Supersede: superseded,
    Signal: signalled,
    Wind: wound,
    SetTimer: timers.timer_set,
    CancelTimer: timers.timer_cancelled,
    Ring: timers.rung,
    Triggered: triggered,
    Adapt: users.adapted,
    Migrate: schema.migrated,
    Prune: schema.pruned,
    Prove: proving.proved,
    Pin: memory.pinned,
    Unpin: memory.unpinned,
    Rate: memory.rated,
    Fit: memory.fitted,
    Summarise: memory.summarised,
    GiveUp: memory.given_up,
}


def decide(command: Command, state: SessionState, given: Given) -> list[AnyEvent]:
    """The events that `command` amounts to on `state`. Raises a subclass of Refused."""
    return followed(_ruled(command, state, given), state, given)


def _ruled(command: Command, state: SessionState, given: Given) -> list[AnyEvent]:
    """What the command's rule gives, before the session's chart has heard of it."""
    rule = _RULES.get(type(command))
    if rule is None:
        raise Broken(f"no one decides {type(command).__name__}")
    if state.sealed and not isinstance(command, sealing.TOMBSTONES):
        raise SessionSealed()
    first = schema.upgrade(command, state, given)
    state = schema.after(first, state, given)
    ruled = rule(command, state, given)
    told = [*ruled, *supervision.heard(ruled, state, given)]
    return [*first, *memory.attended(plans.followed_up(told, state, given), state, given)]
