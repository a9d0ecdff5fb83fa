"""A call of a plan: it begins when it is ready, under the plan's approval as far as that goes."""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.context import ToolFacts
from agentstate.engine.decide.refusals import Outdated
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.plan import ready
from agentstate.engine.state.rounds import (
    PLAN,
    Plans,
    others_of,
    place_of,
    planned,
    round_of,
    views_of,
)
from agentstate.engine.state.session import Call, SessionState
from agentstate.engine.state.value_authors import authors_of_inputs
from agentstate.errors import NotFound

EFFECTS = ("pure", "idempotent", "once")  # the laxest first
SHAKEN = "{} was changed while the plan waited."
EDITED = "The plan was edited after it was approved: this call, or one that it reads from, is not as approved."
REWRITTEN = "{} was changed after the plan was approved."
OTHER_VERSION = "The tool has another version than the one that was approved with the plan."
UNKNOWN = "What it does was not known when the plan was approved."
STRICTER = "Policy asks for more than the approval of the plan has met."
LOST_RIGHT = "Who approved the plan may not decide it any more."


def next_call(state: SessionState, key: str) -> Call:
    """A call of the plan that is ready, with its arguments resolved. Raises NotFound, Outdated."""
    place = place_of(state.plans, key)
    if place is None or key not in state.plans.ready:
        raise NotFound(f"there is no call {key}")
    name, instance = place
    plans = state.plans
    views, others = views_of(plans, state.pad, instance), others_of(plans, state.pad)
    found = ready.standing(round_of(plans, instance), views, name, others)
    if found.status != "ready" or found.arguments is None:
        raise Outdated(f"call {key} is {found.status}")
    call = plans.plan.by_id[name]
    activity = "" if call.delegate else call.activity
    return Call(
        key,
        call.tool,
        found.arguments,
        None,
        CallStatus.PROPOSED,
        instance=instance,
        round=plans.round,
        activity=activity,
        inputs_by=authors_of_inputs(plans, key),
    )


def lost(state: SessionState, key: str) -> ev.CallsDropped | None:
    """The end of a call that was ready, and of which somebody has since taken away what it reads."""
    place = place_of(state.plans, key)
    if place is None or key not in state.plans.ready:
        return None
    name, instance = place
    views, others = views_of(state.plans, state.pad, instance), others_of(state.plans, state.pad)
    found = ready.standing(round_of(state.plans, instance), views, name, others)
    if found.status not in ("skipped", "blocked"):
        return None
    dropped = ev.Dropped(name, found.status, found.reason, found.kept)
    return ev.CallsDropped(state.plans.round, instance, (dropped,))


class Covering(msgspec.Struct, frozen=True):
    """The request under which people let a call through with its plan; or empty, and why this call is asked about by
    itself although they let the plan through.
    """

    request: str = ""
    why: str = ""
    changed: tuple[ev.ChangedInput, ...] = ()


def covering(state: SessionState, call: Call, facts: ToolFacts, asked: ev.ApprovalRequested) -> Covering:
    """Whether the plan's approval covers a call of it: its arguments, the values that it reads, and the version of its
    tool.
    """
    approval, place = state.plans.approved, place_of(state.plans, call.id)
    if approval is None or place is None:
        return Covering()
    name, instance = place
    if name not in approval.calls:
        return Covering("", EDITED, (ev.ChangedInput(PLAN, approval.edited.get(name, "")),))
    if (rewritten := state.plans.part(instance).rewritten.get(name)) is not None:
        return Covering("", REWRITTEN.format(rewritten.path), (rewritten,))
    if approval.tools.get(call.tool) != facts.version:
        return Covering("", OTHER_VERSION)
    if asked.terms is not None and (asked.terms.reasons or asked.terms.hold) and _was_unknown(state.plans, name):
        return Covering("", UNKNOWN)
    return Covering(approval.request)


def _was_unknown(plans: Plans, name: str) -> bool:
    """Whether some value of the call was not known with the plan: what a plan is given is, a result is not."""
    return any(path.kind != "input" for _, reference in plans.plan.by_id[name].refers for path in reference.paths)


def shaken(state: SessionState, call: Call) -> Covering | None:
    """Returns why a plan is asked about again: a value that it reads changed while it waited; None: none changed."""
    found = state.plans.shaken
    if call.id != state.plans.proposed or found is None:
        return None
    return Covering("", SHAKEN.format(found.path), (found,))


def effect_of(plans: Plans, call: Call, facts: ToolFacts) -> str:
    """What a lost result of the call leads to: of what its tool said when it began and says today, the stricter. A
    session of its own is opened once, however often it is tried.
    """
    found = planned(plans, call.id)
    if call.effect == "delegate" or (found is not None and found.delegate):
        return "delegate"
    return max(call.effect or facts.effect, facts.effect, key=EFFECTS.index)


def readied(call: Call, arguments: dict[str, Any] | None = None) -> ev.CallReadied:
    """A call that does not go on by itself, with its resolved arguments, or with others in their place."""
    shown = call.arguments if arguments is None else arguments
    return ev.CallReadied(call.id, call.tool, shown, call.instance, call.activity)
