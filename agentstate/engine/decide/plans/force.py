"""How a plan comes into force or before a person, when the agent must follow it, and how its round is closed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.commands import InstanceGiven
from agentstate.engine.decide.gates import approval_request
from agentstate.engine.decide.given import Given, ToolFacts
from agentstate.engine.decide.plans.checking import checked, written
from agentstate.engine.decide.verdicts import verdict_on
from agentstate.engine.instants import stamp
from agentstate.engine.state import Call, SessionState, evolve, pending
from agentstate.engine.state.rounds import PLAN, place_of
from agentstate.errors import Invalid

DEVIATES = "It deviates from the plan that was approved."


def follows(state: SessionState) -> bool:
    """Whether the agent may call nothing but what the plan in force says."""
    plans = state.plans
    return plans.follow and (plans.is_open or (plans.run != "" and plans.run == state.run))


def was_approved(state: SessionState) -> bool:
    """Whether a person has approved the plan of this run: then only deviations stop for a person, and they do."""
    plans = state.plans
    return plans.approved is not None and plans.run != "" and plans.run == state.run


def gated(
    state: SessionState, proposal: ev.PlanProposed, opened: Sequence[ev.AnyEvent], given: Given, saved: str = ""
) -> list[ev.AnyEvent]:
    """The plan committed, if policy lets it go on without a person; else proposed, and a request to a person."""
    then = after(state, (*opened, proposal), given)
    call = then.calls[proposal.round]
    verdict = verdict_on(then, call, plan_tool(then, given), given)
    if verdict.gate == "allow" and not _deviates(state, proposal):
        return [*closed(state), *opened, _committed(state, proposal, saved)]
    because = _deviates(state, proposal)
    request = approval_request(then, call, plan_tool(then, given), verdict, given, because=because)
    return [*opened, proposal, request]


def _deviates(state: SessionState, proposal: ev.PlanProposed) -> str:
    """Why a plan of the agent must be seen although policy would let it go on: another one was approved before."""
    if proposal.source != "model" or not was_approved(state):
        return ""
    return DEVIATES if proposal.calls != written(state.plans.plan) else ""


def _committed(state: SessionState, proposal: ev.PlanProposed, saved: str = "") -> ev.PlanCommitted:
    return ev.PlanCommitted(
        version=state.plans.version + 1,
        round=proposal.round,
        calls=proposal.calls,
        by=proposal.by,
        source=proposal.source,
        follow=proposal.follow,
        inputs=proposal.inputs,
        instances=proposal.instances,
        saved=saved,
    )


def plan_tool(state: SessionState, given: Given) -> ToolFacts:
    """The plan as a tool: what a person edits of it is checked like any plan."""

    def check_arguments(arguments: object) -> None:
        if not isinstance(arguments, dict) or not isinstance(arguments.get("calls"), list):
            raise Invalid("want the plan's calls", field="arguments.calls")
        members = [InstanceGiven("")] if arguments.get("instances") else []
        checked(state, arguments["calls"], arguments.get("inputs") or {}, given, members)

    return ToolFacts(PLAN, 1, "pure", 1, 1.0, check_arguments, _preview)


def _preview(arguments: dict[str, Any], state: dict[str, Any]) -> str:
    calls = arguments["calls"]
    names = ", ".join(str(call.get("_id") or call.get("_tool")) for call in calls[:8])
    more = f" and {len(calls) - 8} more" if len(calls) > 8 else ""
    count = arguments.get("instances")
    each = f", for each of {count} instances" if count else ""
    return f"Carry out a plan of {len(calls)} calls{each}: {names}{more}"


def approved(state: SessionState, call: Call, tier: int) -> list[ev.AnyEvent]:
    """A plan that a person let through is committed, as it stands in the approved call."""
    arguments, request = call.arguments, state.requests[call.request]
    proposal = ev.PlanProposed(
        round=call.id,
        calls=tuple(arguments["calls"]),
        by=arguments["by"],
        source=arguments["source"],
        follow=arguments["follow"],
        inputs=arguments["inputs"],
        instances=arguments["instances"],
    )
    committed = _committed(state, proposal)
    covers = {"request": call.request, "tier": tier, "quorum": len(request.approvals)}
    return [*closed(state), msgspec.structs.replace(committed, **covers)]


def closed(state: SessionState, because: str = "another plan took its place") -> list[ev.AnyEvent]:
    """The end of the round that is under way, with what waits for a person in it."""
    plans = state.plans
    if not plans.is_open:
        return []
    waits = [each.asked for each in pending(state) if place_of(plans, each.asked.call)]
    withdrawn = [ev.RequestEnded(asked.request, "withdrawn", because) for asked in waits]
    return [*withdrawn, end_of(state, because)]


def end_of(state: SessionState, because: str) -> ev.RoundEnded:
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
    return ev.RoundEnded(plans.round, counts, instances, because)


def after(state: SessionState, events: Iterable[ev.AnyEvent], given: Given) -> SessionState:
    at = stamp(given.at)
    for event in events:
        state = evolve(state, event, at)
    return state
