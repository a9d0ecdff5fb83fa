"""The end of what is open, each by its name: requests that wait for a person, allowed calls that have not begun, the
round of a plan, contested values.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agentstate.engine import events as ev
from agentstate.engine.events.calls import WithdrawalCode
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.rounds import Plans
from agentstate.engine.state.session import Call, SessionState, calls_in, pending

WITHDRAW_CALL = "withdraw_call"  # the tool by which an agent withdraws what it has proposed
MAX_NAMES = 50  # calls that the end of a round names


def withdrawn(state: SessionState, because: str, code: WithdrawalCode, by: str = "") -> list[ev.AnyEvent]:
    """Returns the end of all that is open. Calls that run may still return."""
    found: list[ev.AnyEvent] = [*requests_withdrawn(state, because), *calls_withdrawn(state, because, code, by)]
    if state.plans.is_open:
        found.append(end_of(ended_with(state, found), because))
    contested = state.changes.open
    found += (ev.ConflictEnded(each.id, "withdrawn", lost=each.proposals, reason=because) for each in contested)
    return found


def requests_withdrawn(state: SessionState, because: str, kid: str | None = None) -> list[ev.AnyEvent]:
    """Returns the end of the pending requests: all, or those of the data subject with the key `kid`."""
    return [
        ev.RequestEnded(request.asked.request, "withdrawn", because)
        for request in pending(state)
        if kid is None or request.kid == kid
    ]


def calls_withdrawn(
    state: SessionState, because: str, code: WithdrawalCode, by: str = "", kid: str | None = None
) -> list[ev.AnyEvent]:
    """Returns the end of the allowed calls that have not begun: all, or those under the key `kid`."""
    return [
        call_withdrawn(state, call, because, code, by)
        for call in calls_in(state, CallStatus.READY)
        if kid is None or call.kid == kid
    ]


def withdrawable(state: SessionState) -> list[Call]:
    """Returns the calls that the session's agent can withdraw: its own proposals, also as people edited them, that wait
    for a person, or that are allowed and have not begun.
    """
    waiting = calls_in(state, CallStatus.WAITING, CallStatus.READY)
    return [call for call in waiting if not call.round and not call.kid and call.undoes < 0]


def asked_by_tool(events: Sequence[ev.AnyEvent], state: SessionState) -> list[ev.AnyEvent]:
    """Returns the end of the calls that the agent withdraws, where `events` tell that its tool for that returned."""
    for event in events:
        call = state.calls.get(event.call) if isinstance(event, ev.ToolReturned) else None
        if call is not None and call.tool == WITHDRAW_CALL:
            tool, why = call.arguments["tool"], call.arguments["why"]
            return [_withdrawn_by_agent(state, each, why) for each in withdrawable(state) if each.tool == tool]
    return []


def _withdrawn_by_agent(state: SessionState, call: Call, why: str) -> ev.AnyEvent:
    if call.status is CallStatus.WAITING:
        return ev.RequestEnded(call.request, "withdrawn", why)
    assert state.opened is not None
    return call_withdrawn(state, call, why, "requested", f"agent:{state.opened.agent}")


def call_withdrawn(
    state: SessionState, call: Call, because: str, code: WithdrawalCode, by: str = ""
) -> ev.CallWithdrawn:
    """Returns the end of one allowed call. It names the request that the call rests on and its approvers."""
    request = call.request if call.approved else ""
    return ev.CallWithdrawn(call.id, code, because, by, request, approvers(state, request))


def approvers(state: SessionState, request: str) -> tuple[str, ...]:
    """Returns who approved a request; empty where the bounded state has let go of it."""
    held = state.requests.get(request)
    return held.approvals if held is not None else ()


def end_of(state: SessionState, because: str) -> ev.RoundEnded:
    """Returns the end of the open round. Ended from outside, it names the calls that had not begun and the approval
    under which the plan was carried out.
    """
    plans = state.plans
    counts: dict[str, int] = {}
    well = 0
    for instance in plans.members:
        outcomes = plans.part(instance).outcomes
        for name in plans.plan.by_id:
            status = outcomes[name].status if name in outcomes else "not begun"
            counts[status] = counts.get(status, 0) + 1
        well += all(outcome.status in ("done", "skipped") for outcome in outcomes.values())
    instances = {"well": well, "not well": len(plans.members) - well} if plans.many else {}
    if not because:
        return ev.RoundEnded(plans.round, counts, instances)
    request = plans.approved.request if plans.approved is not None else ""
    return ev.RoundEnded(
        plans.round,
        counts,
        instances,
        because,
        not_begun=_not_begun(plans),
        request=request,
        approved_by=approvers(state, request),
    )


def _not_begun(plans: Plans) -> tuple[str, ...]:
    """Returns the names of the calls whose turn had not come, at most MAX_NAMES; none of another data subject."""
    found: list[str] = []
    for instance in plans.members:
        part = plans.part(instance)
        names: Collection[str] = () if part.kid else plans.plan.by_id
        found += (name for name in names if name not in part.outcomes and name not in found)
        if len(found) >= MAX_NAMES:
            break
    return tuple(found[:MAX_NAMES])


def ended_with(state: SessionState, events: list[ev.AnyEvent]) -> SessionState:
    """Returns the state after `events`, for a rule that looks ahead."""
    for event in events:
        state = evolve(state, event, state.last_at)
    return state
