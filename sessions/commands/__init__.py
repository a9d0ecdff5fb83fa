"""The writes that people and callers can ask for. Nothing else changes a session (but the runtime, through
`sessions.commit`).

Each checks the permission, loads, decides, appends and projects in one transaction, then announces and wakes. A file
a concept; what all share is in `person`.
"""

from __future__ import annotations

from sessions.approvals.assignment import assign
from sessions.approvals.withdrawal import withdraw
from sessions.commands.changes import cast_vote, change_state, propose_value, settle
from sessions.commands.claims import claim, keep, release
from sessions.commands.compensation import compensate
from sessions.commands.conversation import CHANNELS, OtherSessionUnderKey, cancel, end, grant, pause, resume, say, start
from sessions.commands.data import add_data
from sessions.commands.decisions import HoldIsOver, RequestExpired, decide, undo
from sessions.commands.interventions import intervene, retry_session
from sessions.commands.person import MAX_REFERENCE, Person
from sessions.commands.plans import change_goals, edit_plan, propose_plan, save_plan, set_goals
from sessions.commands.proving import prove_value
from sessions.commands.stops import lift, stop
from sessions.commands.supervision import (
    ask_for_person,
    barge_in,
    hand_back,
    no_person_needed,
    pass_on,
    speak,
    take_over,
    whisper,
)
from sessions.commands.versions import fork, name_checkpoint, promote, roll_back

__all__ = [
    "CHANNELS",
    "MAX_REFERENCE",
    "HoldIsOver",
    "OtherSessionUnderKey",
    "Person",
    "RequestExpired",
    "add_data",
    "ask_for_person",
    "assign",
    "barge_in",
    "cancel",
    "cast_vote",
    "change_goals",
    "change_state",
    "claim",
    "compensate",
    "decide",
    "edit_plan",
    "end",
    "fork",
    "grant",
    "hand_back",
    "intervene",
    "keep",
    "lift",
    "name_checkpoint",
    "no_person_needed",
    "pass_on",
    "pause",
    "promote",
    "propose_plan",
    "propose_value",
    "prove_value",
    "release",
    "resume",
    "retry_session",
    "roll_back",
    "save_plan",
    "say",
    "set_goals",
    "settle",
    "speak",
    "start",
    "stop",
    "take_over",
    "undo",
    "whisper",
    "withdraw",
]
