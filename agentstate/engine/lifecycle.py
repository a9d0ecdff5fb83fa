"""The lifecycles of session, call and request as transition tables.

A table is total: every pair of status and trigger is either in it or refused by `move`. The documentation's diagrams
are made from these tables. What users define themselves are statecharts, not these.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from agentstate.errors import Refused


class SessionStatus(StrEnum):
    """What a session is doing."""

    IDLE = "idle"  # waits for the customer
    EXPIRED = "expired"  # waited too long; the next message reopens it
    PLANNING = "planning"  # the model is asked
    EXECUTING = "executing"  # a tool runs or is about to
    WAITING_FEEDBACK = "waiting_feedback"  # a person must decide
    PAUSED = "paused"  # stopped by a person, may go on
    DONE = "done"  # the conversation is over
    FAILED = "failed"  # the agent cannot go on by itself
    CANCELLED = "cancelled"  # stopped for good


class SessionMove(StrEnum):
    """What moves a session."""

    ASK = "ask"
    ACT = "act"
    WAIT = "wait"
    REST = "rest"
    END = "end"
    FAIL = "fail"
    EXPIRE = "expire"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


class CallStatus(StrEnum):
    """Where a call stands."""

    PROPOSED = "proposed"  # the model wrote it
    WAITING = "waiting"  # a person must decide
    READY = "ready"  # may run
    RUNNING = "running"  # its intent is committed, its result is not
    DOUBTED = "doubted"  # its result is lost, and it may not be repeated: a person says whether it happened
    DONE = "done"  # it returned
    FAILED = "failed"  # it did not, finally
    REFUSED = "refused"  # never let through: unknown tool, broken schema, refused before
    REJECTED = "rejected"  # a person said no
    RESPONDED = "responded"  # a person answered in its place
    EXPIRED = "expired"  # nobody decided in time
    WITHDRAWN = "withdrawn"  # the session moved on


class CallMove(StrEnum):
    """What moves a call."""

    ALLOW = "allow"
    GATE = "gate"
    REFUSE = "refuse"
    REJECT = "reject"
    RESPOND = "respond"
    EXPIRE = "expire"
    WITHDRAW = "withdraw"
    INTEND = "intend"
    RETURN = "return"
    RETRY = "retry"
    FAIL = "fail"
    DOUBT = "doubt"


class RequestStatus(StrEnum):
    """Where an approval request stands: pending, or its named outcome."""

    PENDING = "pending"
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"
    RESPONDED = "responded"
    IGNORED = "ignored"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    UNOPPOSED = "unopposed"  # it was held, and nobody objected in time


class IllegalMove(Refused):
    """The lifecycle does not allow this now."""

    code = "illegal_move"


_S, _SM = SessionStatus, SessionMove
_LIVE = (_S.IDLE, _S.EXPIRED, _S.PLANNING, _S.EXECUTING, _S.WAITING_FEEDBACK, _S.FAILED)
SESSION: Mapping[tuple[SessionStatus, SessionMove], SessionStatus] = {
    **{(status, _SM.ASK): _S.PLANNING for status in _LIVE},
    **{(status, _SM.ACT): _S.EXECUTING for status in _LIVE},
    **{(status, _SM.WAIT): _S.WAITING_FEEDBACK for status in _LIVE},
    **{(status, _SM.REST): _S.IDLE for status in _LIVE},
    **{(status, _SM.FAIL): _S.FAILED for status in _LIVE},
    **{(status, _SM.END): _S.DONE for status in _LIVE},
    **{(status, _SM.EXPIRE): _S.EXPIRED for status in _LIVE},
    **{(status, _SM.PAUSE): _S.PAUSED for status in _LIVE},
    **{(status, _SM.CANCEL): _S.CANCELLED for status in _LIVE},
    (_S.PAUSED, _SM.RESUME): _S.IDLE,  # and from there at once to what its state amounts to
    (_S.PAUSED, _SM.END): _S.DONE,
    (_S.PAUSED, _SM.CANCEL): _S.CANCELLED,
}

_C, _CM = CallStatus, CallMove
CALL: Mapping[tuple[CallStatus, CallMove], CallStatus] = {
    (_C.PROPOSED, _CM.ALLOW): _C.READY,
    (_C.PROPOSED, _CM.GATE): _C.WAITING,
    (_C.PROPOSED, _CM.REFUSE): _C.REFUSED,
    (_C.WAITING, _CM.ALLOW): _C.READY,
    (_C.WAITING, _CM.REJECT): _C.REJECTED,
    (_C.WAITING, _CM.RESPOND): _C.RESPONDED,
    (_C.WAITING, _CM.EXPIRE): _C.EXPIRED,
    (_C.WAITING, _CM.WITHDRAW): _C.WITHDRAWN,
    (_C.READY, _CM.GATE): _C.WAITING,
    (_C.WAITING, _CM.GATE): _C.WAITING,
    (_C.READY, _CM.WITHDRAW): _C.WITHDRAWN,
    (_C.READY, _CM.REFUSE): _C.REFUSED,
    (_C.READY, _CM.INTEND): _C.RUNNING,
    (_C.READY, _CM.FAIL): _C.FAILED,  # it failed before, and the time to try it again is over
    (_C.RUNNING, _CM.INTEND): _C.RUNNING,
    (_C.RUNNING, _CM.RETURN): _C.DONE,
    (_C.RUNNING, _CM.RETRY): _C.READY,
    (_C.RUNNING, _CM.FAIL): _C.FAILED,
    (_C.RUNNING, _CM.DOUBT): _C.DOUBTED,
    (_C.DOUBTED, _CM.RETURN): _C.DONE,
    (_C.DOUBTED, _CM.RETRY): _C.READY,
    (_C.DOUBTED, _CM.FAIL): _C.FAILED,
    (_C.FAILED, _CM.RETRY): _C.READY,  # by a person, where it failed for reasons that are not its own
    (_C.FAILED, _CM.RETURN): _C.DONE,
}

CALL_ENDED = frozenset({_C.DONE, _C.FAILED, _C.REFUSED, _C.REJECTED, _C.RESPONDED, _C.EXPIRED, _C.WITHDRAWN})
# How a request ends so that its call may begin.
LET_THROUGH = frozenset({RequestStatus.APPROVED, RequestStatus.EDITED, RequestStatus.UNOPPOSED})
SESSION_ENDED = frozenset({_S.DONE, _S.CANCELLED})

Status = TypeVar("Status", bound=StrEnum)
Move = TypeVar("Move", bound=StrEnum)


def move(table: Mapping[tuple[Status, Move], Status], status: Status, trigger: Move) -> Status:
    """The next status. Raises IllegalMove, naming both, when the table does not hold the pair."""
    try:
        return table[status, trigger]
    except KeyError:
        raise IllegalMove(f"{trigger.value} is not possible when {status.value}") from None


def as_markdown(table: Mapping[tuple[Status, Move], Status], ended: frozenset[Status]) -> str:
    """The table for a page of documentation: a row for every status, each move and where it leads."""
    rows: dict[str, list[str]] = {}
    for (status, trigger), after in table.items():
        rows.setdefault(status.value, []).append(f"{trigger.value} → {after.value}")
    lines = [f"| {status} | {', '.join(moves)} |" for status, moves in rows.items()]
    lines += [f"| {status} | it has ended |" for status in sorted(ended) if status.value not in rows]
    return "\n".join(["| status | moves |", "| --- | --- |", *lines])
