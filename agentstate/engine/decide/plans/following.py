"""What follows from what happened: calls that will never run, and the end of the round."""

from __future__ import annotations

from collections.abc import Iterable

from agentstate.engine import events as ev
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.plans.force import after
from agentstate.engine.decide.withdrawals import end_of
from agentstate.engine.lifecycle import CALL_ENDED, CallStatus
from agentstate.engine.plan import ready
from agentstate.engine.plan.ready import Standing
from agentstate.engine.state.rounds import others_of, place_of, round_of, views_of
from agentstate.engine.state.session import SessionState


def followed_up(events: list[ev.AnyEvent], state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """`events`, and what they lead to in the plan: calls that will never run, and the end of the round."""
    if not state.plans.is_open and not state.plans.proposed and not any(_is_start(event) for event in events):
        return events
    return [*events, *_consequences(state, events, context)]


def _is_start(event: ev.AnyEvent) -> bool:
    return isinstance(event, ev.PlanCommitted | ev.PlanProposed)


_ENDING_ITS_CALL = (ev.ToolReturned, ev.ToolFailed, ev.CallRefused, ev.CallIntervened, ev.CallWithdrawn)
_ENDING = (*_ENDING_ITS_CALL, ev.RequestEnded, ev.CallsDropped)


def _consequences(state: SessionState, events: list[ev.AnyEvent], context: CommandContext) -> list[ev.AnyEvent]:
    started = any(isinstance(event, ev.PlanCommitted) for event in events)
    if not started and not any(isinstance(event, _ENDING) for event in events):
        return []
    then = after(state, events, context)
    if then.ended:
        return []
    found = _unapproved(state, then)
    if not then.plans.is_open:
        return found
    if started:
        dropped = _dropped_at_first(then)
    else:
        ended = dict.fromkeys(place for event in events if (place := _place_of_end(then, event)) is not None)
        dropped = [each for place in ended for each in _dropped_through(then, *place)]
    found += dropped
    then = after(then, found, context)
    if then.plans.is_open and then.plans.left == 0:
        found.append(end_of(then, ""))
    return found


def _unapproved(before: SessionState, after: SessionState) -> list[ev.AnyEvent]:
    """The calls of a plan that was not let through, each told so."""
    waited = before.plans.proposed
    proposal = after.calls.get(waited) if waited else None
    if proposal is None or proposal.status not in CALL_ENDED or proposal.status is CallStatus.DONE:
        return []
    reason = f"the plan was {proposal.status.value}"
    return [
        ev.CallRefused(call.id, f"plan_{proposal.status.value}", reason)
        for call in after.calls.values()
        if call.status is CallStatus.PROPOSED and call.id.startswith(waited + ".")
    ]


def _place_of_end(after: SessionState, event: ev.AnyEvent) -> tuple[str, str] | None:
    """(name, instance) of the call of the plan that `event` ended."""
    if isinstance(event, ev.RequestEnded):
        request = after.requests.get(event.request)
        key = request.asked.call if request else ""
    elif isinstance(event, ev.CallsDropped):
        return event.calls[0].name, event.instance  # what begins a command drops one call alone
    elif isinstance(event, _ENDING_ITS_CALL):
        key = event.call
    else:
        return None
    return place_of(after.plans, key)


def _dropped_at_first(state: SessionState) -> list[ev.AnyEvent]:
    plans, found = state.plans, list[ev.AnyEvent]()
    others = others_of(plans, state.pad)
    for instance in plans.members:
        now = round_of(plans, instance)
        every = ready.standings(now, views_of(plans, state.pad, instance), others).values()
        found += _drops(state, instance, [each for each in every if each.call not in now.outcomes])
    return found


def _dropped_through(state: SessionState, name: str, instance: str) -> list[ev.AnyEvent]:
    plans = state.plans
    views, others = views_of(plans, state.pad, instance), others_of(plans, state.pad)
    return _drops(state, instance, ready.following(round_of(plans, instance), views, (name,), others))


def _drops(state: SessionState, instance: str, standings: Iterable[Standing]) -> list[ev.AnyEvent]:
    """The entries of what will never run: one a call where the agent is told call by call, else one in all."""
    calls = [
        ev.Dropped(each.call, each.status, each.reason, each.kept)
        for each in standings
        if each.status in ("skipped", "blocked")
    ]
    round_id = state.plans.round
    if state.plans.told == "each":
        return [ev.CallsDropped(round_id, instance, (each,)) for each in calls]
    return [ev.CallsDropped(round_id, instance, tuple(calls))] if calls else []
