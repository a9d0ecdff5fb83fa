"""The commands: people's say what they want, the runtime's say what happened. A file a concept."""

from __future__ import annotations

from agentstate.engine.decide.commands.alerts import AcknowledgeAlert, CloseAlert, EscalateAlert, RaiseAlert
from agentstate.engine.decide.commands.approvals import (
    Authority,
    Claim,
    Decide,
    Escalate,
    Expire,
    HoldOver,
    Release,
    Undo,
)
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.calls import Begin, Fail, Return, Withdraw
from agentstate.engine.decide.commands.changes import Arbitrate, ChangeState, Propose, Vote
from agentstate.engine.decide.commands.charts import Signal, Wind
from agentstate.engine.decide.commands.compensation import Compensate
from agentstate.engine.decide.commands.data import AddData
from agentstate.engine.decide.commands.goals import ChangeGoals, SetGoals
from agentstate.engine.decide.commands.grants import GrantSame, RevokeGrant
from agentstate.engine.decide.commands.interventions import Intervene, RetrySession
from agentstate.engine.decide.commands.looping import Grant, Notice
from agentstate.engine.decide.commands.memory import Fit, GiveUp, Pin, Rate, Summarise, Unpin
from agentstate.engine.decide.commands.plans import (
    AddTaskCustomers,
    CountDelegate,
    Delegated,
    Deliver,
    EditPlan,
    EndDelegate,
    EraseSubject,
    InstanceGiven,
    OpenDelegate,
    ProposePlan,
    TakeTask,
)
from agentstate.engine.decide.commands.proving import Prove
from agentstate.engine.decide.commands.runs import Answer, Ask, NoAnswer, Rest
from agentstate.engine.decide.commands.schema import Migrate, Prune
from agentstate.engine.decide.commands.sealing import EraseCustomer, PruneHistory, PrunePayloads, Seal
from agentstate.engine.decide.commands.session import Cancel, End, ExpireSession, Open, Pause, Resume, Say
from agentstate.engine.decide.commands.supervision import (
    AskForPerson,
    Assign,
    BargeIn,
    HandBack,
    NoPersonNeeded,
    PassOn,
    Speak,
    TakeOver,
    Whisper,
)
from agentstate.engine.decide.commands.talk import CorrectReference, SetTopic
from agentstate.engine.decide.commands.timers import CancelTimer, Ring, SetTimer
from agentstate.engine.decide.commands.triggers import Triggered
from agentstate.engine.decide.commands.user import Adapt
from agentstate.engine.decide.commands.versions import Fork, Name, Promote, Rollback, Supersede

__all__ = [
    "AcknowledgeAlert",
    "Adapt",
    "AddData",
    "AddTaskCustomers",
    "Answer",
    "Arbitrate",
    "Ask",
    "AskForPerson",
    "Assign",
    "Authority",
    "BargeIn",
    "Begin",
    "Cancel",
    "CancelTimer",
    "ChangeGoals",
    "ChangeState",
    "Claim",
    "CloseAlert",
    "Command",
    "Compensate",
    "CorrectReference",
    "CountDelegate",
    "Decide",
    "Delegated",
    "Deliver",
    "EditPlan",
    "End",
    "EndDelegate",
    "EraseCustomer",
    "EraseSubject",
    "Escalate",
    "EscalateAlert",
    "Expire",
    "ExpireSession",
    "Fail",
    "Fit",
    "Fork",
    "GiveUp",
    "Grant",
    "GrantSame",
    "HandBack",
    "HoldOver",
    "InstanceGiven",
    "Intervene",
    "Migrate",
    "Name",
    "NoAnswer",
    "NoPersonNeeded",
    "Notice",
    "Open",
    "OpenDelegate",
    "PassOn",
    "Pause",
    "Pin",
    "Promote",
    "Propose",
    "ProposePlan",
    "Prove",
    "Prune",
    "PruneHistory",
    "PrunePayloads",
    "RaiseAlert",
    "Rate",
    "Release",
    "Rest",
    "Resume",
    "RetrySession",
    "Return",
    "RevokeGrant",
    "Ring",
    "Rollback",
    "Say",
    "Seal",
    "SetGoals",
    "SetTimer",
    "SetTopic",
    "Signal",
    "Speak",
    "Summarise",
    "Supersede",
    "TakeOver",
    "TakeTask",
    "Triggered",
    "Undo",
    "Unpin",
    "Vote",
    "Whisper",
    "Wind",
    "Withdraw",
]
