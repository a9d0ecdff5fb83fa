"""Interventions: what a person may do with a call that the runtime cannot bring to an end, and with a session that
failed.

A call is open to one when it is doubted (it began, nobody knows whether it happened), when it failed for reasons that
are not its own (`stuck`), or while it waits to begin. A call of a plan that failed has been reckoned with by its plan
already: it can be noted as seen, and the plan proposed again, or the session put back.
"""

from __future__ import annotations

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import schemas
from agentstate.engine.decide.commands.calls import Intervene, RetrySession, Withdraw
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.plans.outputs import must_fit
from agentstate.engine.decide.schema import misfit, placed
from agentstate.engine.decide.versions import bounded
from agentstate.engine.decide.withdrawals import call_withdrawn
from agentstate.engine.handlers import command_handler
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.rounds import planned
from agentstate.engine.state.session import Call, SessionState
from agentstate.errors import Invalid, NotFound, Refused

MAX_REASON = 500  # characters
MAX_RESULT = 100_000  # bytes of a result that a person supplies
RUNS_AGAIN = ("retry", "not_happened")
ENDS_WITH_RESULT = ("supply", "happened")
_json = msgspec.json.Encoder(decimal_format="number")

# What may be done with a call, by where it stands.
MAY = {
    CallStatus.DOUBTED: ("happened", "not_happened", "skip"),
    CallStatus.FAILED: ("retry", "supply", "skip"),
    CallStatus.READY: ("skip",),
}


class NotOpenToIntervention(Refused):
    """This cannot be done with the call as it stands."""

    code = "not_open_to_intervention"


class NotOpenToWithdrawal(Refused):
    """Only a call that has not begun can be withdrawn."""

    code = "not_open_to_withdrawal"
    remedy = "A call of a plan whose turn has not come is taken out by an edit of the plan."


class PlanWentOn(Refused):
    """The plan has gone on from this call: what depended on it is blocked."""

    code = "plan_went_on"
    remedy = "Propose the plan again, or put the session back to before the call."


class NothingToRetry(Refused):
    """The session can go on by itself."""

    code = "nothing_to_retry"


def doubted(call: Call, reason: str) -> ev.CallDoubted:
    """What becomes of a call that may have happened and is not repeated."""
    return ev.CallDoubted(call.id, call.attempt, reason)


def ways(state: SessionState, call: Call) -> tuple[str, ...]:
    """What a person may do with the call now; empty: nothing."""
    found = MAY.get(call.status, ())
    if call.status is CallStatus.FAILED and (not call.stuck or call.delegate):
        return ()
    if call.status is CallStatus.FAILED and call.round:
        return ("skip",)
    if state.ended:
        return tuple(each for each in found if each not in ("retry", "supply"))
    return found


def is_blocked(state: SessionState, call: Call) -> bool:
    """Whether the call waits for a person to intervene: the one definition for the page, its badge, alerts and the API.

    A call of unknown outcome is blocked. While the session lives, a call that failed for reasons not its own is blocked
    too: an approved call until a person intervenes, any other call until its agent has answered.
    """
    if call.status is not CallStatus.FAILED or not call.stuck:
        return bool(call.stuck)
    if state.ended:
        return False
    if call.approved:
        return True
    return not (state.owes or state.asking or _moved_on(state, call))


def _moved_on(state: SessionState, call: Call) -> bool:
    """Whether the agent has answered since it was told; what has left the bounded conversation was long ago."""
    told = next((at for at, item in enumerate(state.items) if item.call == call.id and item.role == "tool"), None)
    return told is None or any(item.role == "agent" for item in state.items[told + 1 :])


@command_handler(Intervene)
def intervened(command: Intervene, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Raises NotFound, NotOpenToIntervention, PlanWentOn, Invalid."""
    if state.opened is None:
        raise NotFound("there is no such session")
    call = state.calls.get(command.call)
    if call is None:
        raise NotFound(f"there is no call {command.call[:80]}")
    reason = bounded(command.reason, "reason", MAX_REASON)
    _must_be_open(state, call, command.how)
    if command.how not in ENDS_WITH_RESULT:
        if command.result is not None:
            raise Invalid("only a call that ends with a result is given one", field="result")
        if call.status is CallStatus.READY:
            return [call_withdrawn(state, call, reason, "requested", command.by)]
        return [ev.CallIntervened(call.id, command.how, command.by, reason)]
    call = placed(call, context)
    _must_fit(state, call, command, context)
    return [ev.CallIntervened(call.id, command.how, command.by, reason, command.result, call.output_path)]


@command_handler(Withdraw)
def withdrawn_by_request(command: Withdraw, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The end of a call that waits for a person, or that is allowed and has not begun. Raises NotFound, SessionOver,
    NotOpenToWithdrawal, Invalid.
    """
    must_live(state)
    reason = bounded(command.reason, "reason", MAX_REASON)
    held = state.requests.get(command.request)
    key = held.asked.call if held is not None else command.call
    call = state.calls.get(key)
    if call is None:
        raise NotFound(f"there is no call {key[:80]}" if key else f"there is no request {command.request[:80]}")
    if call.status is CallStatus.WAITING:
        return [ev.RequestEnded(call.request, "withdrawn", reason)]
    if call.status is CallStatus.READY:
        return [call_withdrawn(state, call, reason, "requested", command.by)]
    raise NotOpenToWithdrawal(f"call {call.id} is {call.status.value}")


def _must_be_open(state: SessionState, call: Call, how: str) -> None:
    may = ways(state, call)
    if how in may:
        return
    if call.status is CallStatus.FAILED and call.stuck and call.round:
        raise PlanWentOn()
    raise NotOpenToIntervention(f"call {call.id} is {call.status.value}: {how} is not possible")


def _must_fit(state: SessionState, call: Call, command: Intervene, context: CommandContext) -> None:
    """Raises Invalid: a result is judged by the schemas that the tool's own would be judged by."""
    try:
        data = _json.encode(command.result)
    except (TypeError, ValueError) as error:
        raise Invalid(f"it is not JSON: {error}", field="result") from None
    if len(data) > MAX_RESULT:
        raise Invalid(f"got {len(data)} bytes, at most {MAX_RESULT}", field="result")
    facts = context.tools.get(call.tool)
    if facts is not None and facts.result is not None:
        try:
            schemas.validate(facts.result, command.result, "result")
        except schemas.BreaksSchema as broken:
            raise Invalid(broken.detail, field="result") from None
    found = planned(state.plans, call.id)
    if found is not None:
        must_fit(state, call, found, command.result, context)
    elif unfit := misfit(state, call, command.result, context):
        raise Invalid(f"it does not fit the state: {unfit}", field="result")


@command_handler(RetrySession)
def session_retried(command: RetrySession, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The session that could not go on is tried again. Raises SessionOver, NothingToRetry, Invalid."""
    must_live(state)
    reason = bounded(command.reason, "reason", MAX_REASON)
    why = command.parked or state.failure
    if not why:
        raise NothingToRetry()
    return [ev.SessionRetried(command.by, reason, why[:MAX_REASON])]
