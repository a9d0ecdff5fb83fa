"""What a session's state holds: its conversation, calls, requests, scratchpad and where its run stands."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.alerts import Alert
from agentstate.engine.charts.standing import Standing
from agentstate.engine.conversation import Item
from agentstate.engine.instants import parse, stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus, SessionStatus
from agentstate.engine.looping.held import Loop
from agentstate.engine.memory.held import Memory
from agentstate.engine.merge.kept import Changes
from agentstate.engine.migrating.in_force import InForce
from agentstate.engine.policy.granted import Grant
from agentstate.engine.policy.tally import Tally
from agentstate.engine.policy.terms import Names, Terms
from agentstate.engine.remembered import Remembered, Settled, joined, with_gain
from agentstate.engine.state.participants import Desk, Involvement
from agentstate.engine.state.rounds import Goals, Plans
from agentstate.engine.timers import Timer
from agentstate.engine.understanding.held import Talk
from agentstate.engine.versions.kept import Versions


class Call(msgspec.Struct, frozen=True):
    """A call and where it stands. `approved` is the digest of what a person let through, if one had to."""

    id: str
    tool: str
    arguments: dict[str, Any]
    output_path: str | None
    status: CallStatus
    tier: int = 0
    rule: str = ""
    policy: str = ""
    request: str = ""
    approved: str = ""
    attempt: int = 0
    intent: int = -1  # seq of the latest tool.intended
    retry_at: str = ""
    retry_until: str = ""  # until when it is tried again, where its tool declares a total time
    instance: str = ""  # of the round that it is carried out for
    round: str = ""  # the round of the plan that it belongs to
    delegate: str = ""  # the session that does it
    kid: str = ""  # key of its data subject; empty: the session's customer
    activity: str = ""  # the function that executes it, when not the tool's own
    undoes: int = -1  # the entry of the effect that it undoes
    behind: str = ""  # the call that must have ended before it begins
    effect: str = ""  # while it runs: of its tool, as the intent says
    tool_version: int = 0  # while it runs: as the intent says
    stuck: str = ""  # what a person is to see to: `unknown` whether it happened, `failed` for reasons not its own
    authors: tuple[str, ...] = ()  # the people who proposed it, by an edit, a plan or an order to undo
    inputs_by: tuple[str, ...] = ()  # the people who wrote a value that it reads, as it was resolved
    counted: tuple[str, str] = ("", "")  # the day, and the digest of the arguments, that the day's sums have of it
    moved: dict[str, int] = {}  # what they have of its money, by currency


# What came of the call of an approved request; empty: the request was not approved.
Execution = Literal["", "waiting", "begun", "unknown", "done", "failed", "refused", "withdrawn", "asked_again"]


class Request(msgspec.Struct, frozen=True):
    """An approval request: the event that asked, what was decided so far, and its outcome."""

    asked: ev.ApprovalRequested
    seq: int
    at: str
    status: RequestStatus = RequestStatus.PENDING
    approvals: tuple[str, ...] = ()  # who stands behind the arguments as they are now
    approved_arguments: dict[str, Any] | None = None
    decided_by: str = ""
    decision: str = ""
    reason: str = ""
    response: str = ""
    ended_at: str = ""
    because: str = ""  # why it ended without a decision, or why what was approved is not done
    execution: Execution = ""  # what came of its call once it was approved
    kid: str = ""  # as its call's
    assigned_to: str = ""  # who is to see to it
    behalf: tuple[str, ...] = ()  # for each of `approvals`, whose authority it rests on; empty: their own
    codes: tuple[str, ...] = ()  # for each of `approvals`, the reason code that was chosen
    steps: tuple[int, ...] = ()  # for each of `approvals`, the step of the chain at which it was given
    step: int = 0  # of its chain that it has come to
    until: str = ""  # its deadline, where that was set anew
    held_until: str = ""  # it executes then unless somebody objects; empty: it does not by itself
    claimed_by: str = ""  # who said last that they are on it; whether their lease lasts is for the row to say
    claimed_from: str = ""  # who was on it before them and lost it to them

    @property
    def terms(self) -> Terms:
        """What is asked of people."""
        return self.asked.terms or Terms()

    @property
    def expires_at(self) -> str:
        """Returns the instant at which it ends without a decision."""
        return self.until or self.asked.expires_at

    @property
    def reviewers(self) -> tuple[Names, ...]:
        """Whom the request is for now: one of each group decides; none: whoever has the permission."""
        return self.reviewers_at(self.step)

    def reviewers_at(self, step: int) -> tuple[Names, ...]:
        """Returns whom the request was for at this step of its chain; 0: before the first."""
        return self.terms.chain[step - 1].reviewers if step else self.terms.reviewers

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as they stand: edited by a person, else as the model proposed them."""
        return self.asked.arguments if self.approved_arguments is None else self.approved_arguments


class SessionState(msgspec.Struct, frozen=True):
    """Everything about a session that deciding, running and showing it needs. `seq` counts its events."""

    seq: int = 0
    epoch: int = 0
    status: SessionStatus = SessionStatus.IDLE
    opened: ev.SessionOpened | None = None
    opened_at: str = ""
    last_at: str = ""
    ended_reason: str = ""
    ended_at: str = ""
    items: tuple[Item, ...] = ()
    talk: Talk = Talk()
    memory: Memory = Memory()
    messages: int = 0
    proposed: int = 0  # calls so far, those no longer held included
    calls: dict[str, Call] = {}
    requests: dict[str, Request] = {}
    pad: dict[str, Any] = {}
    plans: Plans = Plans()
    goals: Goals = Goals()
    run: str = ""
    runs: int = 0
    owes: bool = False  # the agent owes an answer to what was said or returned
    asking: str = ""  # the open model request
    model_attempt: int = 0
    model_retry_at: str = ""
    refused: tuple[str, ...] = ()
    refusals: int = 0
    grants: dict[str, Grant] = {}  # what approvers let through for what follows
    tally: Tally = Tally()  # what was set going today
    settled: tuple[Settled, ...] = ()  # calls about which nobody is asked again
    loop: Loop = Loop()  # what the agent's loop has used, and what bounds it
    failure: str = ""
    paused_at: str = ""  # since when a person has it stopped; empty: it goes on
    paused_with_parent: bool = False  # because the session whose call it does is
    taken_by: str = ""  # who speaks instead of the agent: a person, or desk.QUEUE for nobody yet; empty: the agent does
    desk: Desk = Desk()
    involved: Involvement = Involvement()  # people who spoke as the customer or for the agent, or whispered
    expired_at: str = ""  # it has waited too long for its customer; the next message reopens it
    versions: Versions = Versions()
    changes: Changes = Changes()
    chart: Standing = Standing()
    user: ev.Adaptation = ev.Adaptation()  # what is known of the customer across sessions, and what it changes
    schema: InForce = InForce()  # of the scratchpad
    timers: dict[str, Timer] = {}
    alerts: dict[str, Alert] = {}  # what wants a person's eye, and what of it was closed lately
    cause: tuple[str, ...] = ()  # the triggers that led to what happens now; empty: a person or the customer did
    sealed: str = ""  # why nothing follows any more: asked, erased, pruned; empty: it goes on

    @property
    def ended(self) -> bool:
        """Whether the conversation is over."""
        return self.status in (SessionStatus.DONE, SessionStatus.CANCELLED)


def remembered_by(state: SessionState) -> Remembered:
    """What a session passes on to one that takes its place, or does one of its calls."""
    return Remembered(state.refused, state.refusals, state.settled, state.tally)


def remembering(state: SessionState, others: Remembered | None) -> SessionState:
    """Returns the state with what another session remembers."""
    return state if others is None else _with_remembered(state, joined(remembered_by(state), others))


def remembering_also(state: SessionState, gain: Remembered) -> SessionState:
    """Returns the state with what another session of its family has come to remember."""
    return _with_remembered(state, with_gain(remembered_by(state), gain))


def _with_remembered(state: SessionState, found: Remembered) -> SessionState:
    return msgspec.structs.replace(
        state, refused=found.refused, refusals=found.refusals, settled=found.settled, tally=found.tally
    )


def expires_at(state: SessionState) -> str:
    """When the session expires if nothing happens until then; empty: never, or it has."""
    if state.opened is None or not state.opened.idle or state.expired_at:
        return ""
    return stamp(parse(state.last_at) + timedelta(seconds=state.opened.idle))


def calls_in(state: SessionState, *statuses: CallStatus) -> list[Call]:
    """The calls that stand in one of `statuses`, oldest first."""
    return [call for call in state.calls.values() if call.status in statuses]


def digest_of(state: SessionState, request: Request) -> str:
    """What an approval of `request`, as it stands, is bound to: an edit that waits for others has its own."""
    call = state.calls.get(request.asked.call)
    return call.approved if call is not None and call.approved else request.asked.digest


def may_begin(state: SessionState, call: Call) -> bool:
    """Whether a call may begin as far as people are concerned: while one has taken the session over, only what somebody
    let through.
    """
    return not state.taken_by or bool(call.approved)


def pending(state: SessionState) -> list[Request]:
    """The requests that wait for a person, oldest first."""
    return [request for request in state.requests.values() if request.status == RequestStatus.PENDING]
