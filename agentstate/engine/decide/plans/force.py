"""How a plan comes into force or before a person, when the agent must follow it, and how its round is closed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.plans import InstanceGiven
from agentstate.engine.decide.context import CommandContext, ToolFacts
from agentstate.engine.decide.gates import approval_request
from agentstate.engine.decide.plans.checking import checked, written
from agentstate.engine.decide.verdicts import verdict_on
from agentstate.engine.decide.withdrawals import call_withdrawn, end_of, ended_with
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.plan import model
from agentstate.engine.plan.deviation import Deviation, deviations
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.rounds import PLAN, Plans, offered_by, place_of, planned, views_of
from agentstate.engine.state.session import Call, SessionState, calls_in, pending
from agentstate.errors import Invalid

PROPOSED = ev.PlanProposed.__struct_config__.tag
DEVIATES = "It deviates from the plan that was approved."
MAX_NAMES = 40  # tools and delegates that a preview names
TOLD = 10  # deviating calls that a request names
LONGEST_WHY = 1_000  # characters
SHOWN_MEMBERS = 50  # instances of the session's customer whose inputs a request shows; it binds those of all


def follows(state: SessionState) -> bool:
    """Whether the agent may call nothing but what the plan in force says."""
    plans = state.plans
    return plans.follow and (plans.is_open or (plans.run != "" and plans.run == state.run))


def was_approved(state: SessionState) -> bool:
    """Whether a person has approved the plan of this run: then only deviations stop for a person, and they do."""
    plans = state.plans
    return plans.approved is not None and plans.run != "" and plans.run == state.run


def gated(
    state: SessionState, proposal: ev.PlanProposed, offers: Sequence[ev.InstanceProposed], context: CommandContext
) -> list[ev.AnyEvent]:
    """The plan committed, if policy lets it go on without a person; else proposed, and a request to a person. One that
    waits for a person already is withdrawn. Its instances are opened when it is committed and not before.
    """
    first = _withdrawn(state)
    proposal = _bound(proposal, offers, context)
    then = after(state, (*first, *offers, proposal), context)
    call, tool = then.calls[proposal.round], plan_tool(then, context)
    verdict = verdict_on(then, call, tool, context)
    because = _deviates(state, proposal)
    if verdict.gate == "allow" and not because:
        return [*first, *closed(state), *map(_opened, offers), _committed(state, proposal)]
    return [*first, *offers, proposal, approval_request(then, call, tool, verdict, context, because=because)]


def _bound(
    proposal: ev.PlanProposed, offers: Sequence[ev.InstanceProposed], context: CommandContext
) -> ev.PlanProposed:
    """The proposal with what its approval is to bind beside its calls: instances, and the versions of its tools."""
    shown = {each.instance for each in [each for each in offers if not each.kid][:SHOWN_MEMBERS]}
    named = dict.fromkeys(str(call.get("_tool")) for call in proposal.calls)
    return msgspec.structs.replace(
        proposal,
        members=tuple(_member(each, each.instance in shown) for each in offers),
        tools={name: context.tools[name].version for name in named if name in context.tools},
    )


def _member(offer: ev.InstanceProposed, is_shown: bool) -> ev.Member:
    digest = ev.digest(offer.instance, offer.inputs, offer.subject, offer.kid, offer.salt)
    return ev.Member(digest, offer.instance, offer.inputs) if is_shown else ev.Member(digest)


def _opened(offer: ev.InstanceProposed) -> ev.InstanceOpened:
    return ev.InstanceOpened(offer.round, offer.instance, offer.inputs, offer.subject, offer.kid)


def _withdrawn(state: SessionState) -> list[ev.AnyEvent]:
    """The end of the request under which another plan waits for a person."""
    waits = [each.asked.request for each in pending(state) if each.asked.call == state.plans.proposed]
    return [ev.RequestEnded(request, "withdrawn", "another plan was proposed") for request in waits]


def _deviates(state: SessionState, proposal: ev.PlanProposed) -> str:
    """Why a plan of the agent must be seen although policy would let it go on: another one was approved before."""
    if proposal.source != "model" or not was_approved(state):
        return ""
    found = deviating(state, proposal.calls)
    return f"{DEVIATES} {'; '.join(map(str, found[:TOLD]))}"[:LONGEST_WHY] + "." if found else ""


def deviating(state: SessionState, calls: Sequence[dict[str, Any]]) -> tuple[Deviation, ...]:
    """What of a proposed plan is not as it stands in the plan in force."""
    views = views_of(state.plans, state.pad, "")
    return tuple(each for each in deviations(state.plans.plan, model.read(list(calls)), views) if each)


def _committed(state: SessionState, proposal: ev.PlanProposed) -> ev.PlanCommitted:
    return ev.PlanCommitted(
        version=state.plans.version + 1,
        round=proposal.round,
        calls=proposal.calls,
        by=proposal.by,
        source=proposal.source,
        follow=proposal.follow,
        inputs=proposal.inputs,
        instances=proposal.instances,
        saved=proposal.saved,
        saved_by=proposal.saved_by,
    )


def plan_tool(state: SessionState, context: CommandContext) -> ToolFacts:
    """The plan as a tool: what a person edits of it is checked like any plan."""
    proposal = state.calls.get(state.plans.proposed)

    def check_arguments(arguments: object) -> None:
        known = _edited(arguments, proposal.arguments if proposal else {})
        offered = offered_by(state.plans, state.plans.proposed).items()
        members = [InstanceGiven(name, inputs) for name, inputs in offered] or [InstanceGiven("")]
        members = members if known["instances"] else []
        checked(state, known["calls"], known["inputs"], context, members)

    return ToolFacts(PLAN, 1, "pure", 1, 1.0, check_arguments, _preview)


_EDITABLE: dict[str, type] = {"calls": list, "inputs": dict, "follow": bool}


def _edited(arguments: object, proposed: dict[str, Any]) -> dict[str, Any]:
    """A plan's arguments as a person edited them. Who proposed it, and for whom, stays. Raises Invalid."""
    if not isinstance(arguments, dict) or arguments.keys() != proposed.keys():
        raise Invalid(f"want {', '.join(proposed)}", field="arguments")
    for name, value in arguments.items():
        kind = _EDITABLE.get(name)
        if kind is None and value != proposed[name]:
            raise Invalid("this is no part of the plan", field=f"arguments.{name}")
        if kind is not None and not isinstance(value, kind):
            raise Invalid(f"want {kind.__name__}", field=f"arguments.{name}")
    return arguments


def _preview(arguments: dict[str, Any], state: dict[str, Any]) -> str:
    """What the plan calls, in its order: tools, and delegates by name. Never the labels, which its author chooses."""
    calls = arguments["calls"]
    counts = Counter(_called(call) for call in calls)
    names = [name if times == 1 else f"{name} ({times} times)" for name, times in counts.items()]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    count = arguments.get("instances")
    each = f", for each of {count} instances" if count else ""
    return f"Carry out a plan of {len(calls)} calls{each}: {', '.join(names[:MAX_NAMES])}{more}"


def _called(call: dict[str, Any]) -> str:
    delegate = call.get("_delegate")
    return f"{call['_tool']} by the delegate {delegate}" if delegate else str(call["_tool"])


def approved(state: SessionState, call: Call, tier: int) -> list[ev.AnyEvent]:
    """Commits an approved plan with the arguments of the approved call, and opens its instances."""
    arguments, request = call.arguments, state.requests[call.request]
    calls = written(model.read(arguments["calls"]))
    proposal = msgspec.convert({**arguments, "round": call.id, "calls": calls, "kind": PROPOSED}, ev.PlanProposed)
    covers = {"request": call.request, "tier": tier, "quorum": len(request.approvals), "tools": proposal.tools}
    parts = state.plans.instances
    opened = [
        ev.InstanceOpened(call.id, name, inputs, parts[name].subject, parts[name].kid)
        for name, inputs in offered_by(state.plans, call.id).items()
    ]
    return [*closed(state), *opened, msgspec.structs.replace(_committed(state, proposal), **covers)]


def closed(state: SessionState, because: str = "another plan took its place") -> list[ev.AnyEvent]:
    """Ends the round that is under way, and withdraws its requests. An approved call is not withdrawn: it runs beside
    the plan that replaces the round.
    """
    plans = state.plans
    if not plans.is_open:
        return []
    ready = [call for call in calls_in(state, CallStatus.READY) if place_of(plans, call.id)]
    beside = [call.id for call in ready if _goes_on(plans, call)]
    waits = [each.asked for each in pending(state) if place_of(plans, each.asked.call)]
    withdrawn: list[ev.AnyEvent] = [ev.RequestEnded(asked.request, "withdrawn", because) for asked in waits]
    withdrawn += [call_withdrawn(state, call, because, "replaced") for call in ready if call.id not in beside]
    ended = end_of(ended_with(state, withdrawn), because)
    return [*withdrawn, msgspec.structs.replace(ended, beside=tuple(beside))]


def _goes_on(plans: Plans, call: Call) -> bool:
    """Whether a call can begin once its round has ended: what is delegated, or reads and writes the data of another
    subject, cannot.
    """
    found = planned(plans, call.id)
    return bool(call.approved) and not call.kid and found is not None and not found.delegate


def after(state: SessionState, events: Iterable[ev.AnyEvent], context: CommandContext) -> SessionState:
    at = stamp(context.at)
    for event in events:
        state = evolve(state, event, at)
    return state
