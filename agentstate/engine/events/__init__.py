"""The vocabulary: everything that can have happened in a session, as typed, versioned records.

An event is stored once, as the bytes `encode` gives, and never rewritten; an old form is upcast when it is read.
Numbers other than integers keep the exact text in which they arrived (they are `Decimal` in memory).

A file a concept: `session`, `runs`, `calls`, `approvals`; what all share is in `base`. A new kind is defined in its
concept's file and named here, in the imports and in `AnyEvent`.
"""

from __future__ import annotations

from typing import get_args

import msgspec

from agentstate.engine.events.alerts import AlertAcknowledged, AlertClosed, AlertEscalated, AlertRaised
from agentstate.engine.events.approvals import (
    ApprovalRequested,
    Changed,
    ChangedInput,
    DecisionMade,
    Evidence,
    RequestClaimed,
    RequestEnded,
    RequestEscalated,
    RequestHeld,
    RequestReleased,
    RequestUndone,
    View,
)
from agentstate.engine.events.base import Arguments, DecisionKind, Event, Outcome, Role, digest, kind_of
from agentstate.engine.events.calls import (
    Answered,
    CallAllowed,
    CallRefused,
    CallWithdrawn,
    ToolFailed,
    ToolIntended,
    ToolReturned,
)
from agentstate.engine.events.changes import (
    ConflictEnded,
    ConflictOpened,
    Proposal,
    StateChanged,
    ValueProposed,
    VoteCast,
    Write,
)
from agentstate.engine.events.charts import ChartMoved, Shift
from agentstate.engine.events.compensation import CompensationOrdered, Undoing
from agentstate.engine.events.data import DataAdded
from agentstate.engine.events.goals import GoalSource, GoalsSet
from agentstate.engine.events.grants import GrantGiven, GrantRevoked
from agentstate.engine.events.interventions import CallDoubted, CallIntervened, Intervention, SessionRetried
from agentstate.engine.events.looping import (
    CircleNoticed,
    MessageQueued,
    MessageRefused,
    RunGranted,
    RunInterrupted,
    RunStopped,
    StopCode,
)
from agentstate.engine.events.memory import ItemPinned, ItemRated, ItemUnpinned, SummaryMade, SummaryRequested
from agentstate.engine.events.plans import (
    CallDelegated,
    CallReadied,
    CallsDropped,
    DelegateCounted,
    DelegateEnded,
    DelegateOpened,
    Dropped,
    InstanceOpened,
    InstanceProposed,
    Member,
    PlanCommitted,
    PlanProposed,
    PlanSource,
    RoundEnded,
    SubjectErased,
    TaskCustomersAdded,
    TaskDelivered,
    TaskTaken,
)
from agentstate.engine.events.proving import ValueProved
from agentstate.engine.events.runs import (
    CallProposed,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    RunRested,
    RunStarted,
    Shown,
)
from agentstate.engine.events.schema import StateMigrated, StatePruned
from agentstate.engine.events.session import (
    MessageAdded,
    PayloadPruned,
    SessionCancelled,
    SessionEnded,
    SessionExpired,
    SessionFailed,
    SessionOpened,
    SessionPaused,
    SessionReopened,
    SessionResumed,
    SessionSealed,
    SnapshotRecorded,
    Span,
)
from agentstate.engine.events.supervision import Asked as PersonAsked
from agentstate.engine.events.supervision import (
    DroppedFor,
    GuidanceGiven,
    HumanRequested,
    HumanWithdrawn,
    ModelDropped,
    SessionHandedBack,
    SessionPassedOn,
    SessionTakenOver,
    WorkAssigned,
)
from agentstate.engine.events.talk import (
    ReferenceCorrected,
    TalkDeclared,
    TopicClosed,
    TopicOpened,
    TopicResumed,
    TopicSwitched,
)
from agentstate.engine.events.timers import TimerCancelled, TimerFired, TimerSet
from agentstate.engine.events.triggers import TriggerFired
from agentstate.engine.events.upcast import Upcasters, Vocabulary
from agentstate.engine.events.user import Adaptation, Tightening, UserAdapted
from agentstate.engine.events.versions import (
    CheckpointNamed,
    ForkPromoted,
    Heard,
    Lasting,
    MessageDrafted,
    SessionForked,
    SessionRolledBack,
    SessionSuperseded,
)

AnyEvent = (
    SessionOpened
    | MessageAdded
    | RunStarted
    | RunRested
    | RunStopped
    | RunGranted
    | RunInterrupted
    | CircleNoticed
    | MessageQueued
    | MessageRefused
    | ModelRequested
    | ModelAnswered
    | ModelFailed
    | CallAllowed
    | CallRefused
    | CallWithdrawn
    | ApprovalRequested
    | DecisionMade
    | GrantGiven
    | GrantRevoked
    | RequestEscalated
    | RequestHeld
    | RequestUndone
    | RequestClaimed
    | RequestReleased
    | RequestEnded
    | ToolIntended
    | ToolReturned
    | ToolFailed
    | CallDoubted
    | CallIntervened
    | SessionRetried
    | CompensationOrdered
    | ItemPinned
    | ItemUnpinned
    | ItemRated
    | SummaryRequested
    | SummaryMade
    | PlanProposed
    | PlanCommitted
    | InstanceOpened
    | InstanceProposed
    | SubjectErased
    | CallReadied
    | CallsDropped
    | RoundEnded
    | CallDelegated
    | TaskTaken
    | TaskCustomersAdded
    | TaskDelivered
    | DelegateCounted
    | DelegateOpened
    | DelegateEnded
    | GoalsSet
    | SessionPaused
    | SessionResumed
    | SessionCancelled
    | DataAdded
    | SessionEnded
    | SessionFailed
    | SessionExpired
    | SessionReopened
    | PayloadPruned
    | SessionSealed
    | SnapshotRecorded
    | TalkDeclared
    | TopicOpened
    | TopicSwitched
    | TopicResumed
    | TopicClosed
    | ReferenceCorrected
    | CheckpointNamed
    | StateChanged
    | ConflictOpened
    | ValueProposed
    | VoteCast
    | ConflictEnded
    | SessionRolledBack
    | SessionForked
    | MessageDrafted
    | ForkPromoted
    | SessionSuperseded
    | UserAdapted
    | ChartMoved
    | StateMigrated
    | StatePruned
    | ValueProved
    | GuidanceGiven
    | HumanRequested
    | HumanWithdrawn
    | ModelDropped
    | SessionHandedBack
    | SessionPassedOn
    | SessionTakenOver
    | WorkAssigned
    | TimerSet
    | TimerCancelled
    | TimerFired
    | TriggerFired
    | AlertRaised
    | AlertAcknowledged
    | AlertEscalated
    | AlertClosed
)

KINDS: tuple[str, ...] = tuple(str(member.__struct_config__.tag) for member in get_args(AnyEvent))

_encoder = msgspec.json.Encoder(decimal_format="number")
UPCASTERS: Upcasters = {}  # by kind and version: from that form to the next. None has needed one yet.
_vocabulary: Vocabulary[AnyEvent] = Vocabulary(AnyEvent, UPCASTERS)


def encode(event: Event) -> bytes:
    """The bytes that are stored, once."""
    return _encoder.encode(event)


def decode(data: bytes) -> AnyEvent:
    """The inverse of `encode`. Raises msgspec.ValidationError on anything that is not a known event."""
    return _vocabulary.decode(data)


__all__ = [
    "KINDS",
    "UPCASTERS",
    "Adaptation",
    "AlertAcknowledged",
    "AlertClosed",
    "AlertEscalated",
    "AlertRaised",
    "Answered",
    "AnyEvent",
    "ApprovalRequested",
    "Arguments",
    "CallAllowed",
    "CallDelegated",
    "CallDoubted",
    "CallIntervened",
    "CallProposed",
    "CallReadied",
    "CallRefused",
    "CallWithdrawn",
    "CallsDropped",
    "Changed",
    "ChangedInput",
    "ChartMoved",
    "CheckpointNamed",
    "CircleNoticed",
    "CompensationOrdered",
    "ConflictEnded",
    "ConflictOpened",
    "DataAdded",
    "DecisionKind",
    "DecisionMade",
    "DelegateCounted",
    "DelegateEnded",
    "DelegateOpened",
    "Dropped",
    "DroppedFor",
    "Event",
    "Evidence",
    "ForkPromoted",
    "GoalSource",
    "GoalsSet",
    "GrantGiven",
    "GrantRevoked",
    "GuidanceGiven",
    "Heard",
    "HumanRequested",
    "HumanWithdrawn",
    "InstanceOpened",
    "InstanceProposed",
    "Intervention",
    "ItemPinned",
    "ItemRated",
    "ItemUnpinned",
    "Lasting",
    "Member",
    "MessageAdded",
    "MessageDrafted",
    "MessageQueued",
    "MessageRefused",
    "ModelAnswered",
    "ModelDropped",
    "ModelFailed",
    "ModelRequested",
    "Outcome",
    "PayloadPruned",
    "PersonAsked",
    "PlanCommitted",
    "PlanProposed",
    "PlanSource",
    "Proposal",
    "ReferenceCorrected",
    "RequestClaimed",
    "RequestEnded",
    "RequestEscalated",
    "RequestHeld",
    "RequestReleased",
    "RequestUndone",
    "Role",
    "RoundEnded",
    "RunGranted",
    "RunInterrupted",
    "RunRested",
    "RunStarted",
    "RunStopped",
    "SessionCancelled",
    "SessionEnded",
    "SessionExpired",
    "SessionFailed",
    "SessionForked",
    "SessionHandedBack",
    "SessionOpened",
    "SessionPassedOn",
    "SessionPaused",
    "SessionReopened",
    "SessionResumed",
    "SessionRetried",
    "SessionRolledBack",
    "SessionSealed",
    "SessionSuperseded",
    "SessionTakenOver",
    "Shift",
    "Shown",
    "SnapshotRecorded",
    "Span",
    "StateChanged",
    "StateMigrated",
    "StatePruned",
    "StopCode",
    "SubjectErased",
    "SummaryMade",
    "SummaryRequested",
    "TalkDeclared",
    "TaskCustomersAdded",
    "TaskDelivered",
    "TaskTaken",
    "Tightening",
    "TimerCancelled",
    "TimerFired",
    "TimerSet",
    "ToolFailed",
    "ToolIntended",
    "ToolReturned",
    "TopicClosed",
    "TopicOpened",
    "TopicResumed",
    "TopicSwitched",
    "TriggerFired",
    "Undoing",
    "UserAdapted",
    "ValueProposed",
    "ValueProved",
    "View",
    "VoteCast",
    "WorkAssigned",
    "Write",
    "decode",
    "digest",
    "encode",
    "kind_of",
]
