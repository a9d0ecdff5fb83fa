"""The goals of a session: a tree of tasks, bounded by `plan.goals`; how far it has come follows from the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, added
from agentstate.engine.handlers import event_handler
from agentstate.engine.plan import goals
from agentstate.engine.plan.goals import Goal, Standing
from agentstate.engine.state.rounds import Goals
from agentstate.engine.state.session import SessionState

GOALS = "goals"  # the tool by which a model takes a goal apart


@event_handler(ev.GoalsSet)
def goals_set(state: SessionState, event: ev.GoalsSet, at: str) -> SessionState:
    """The new tree. A model that made it is told so: its call has ended."""
    tree = goals.read(event.tree)
    kept = {plan: how for plan, how in state.goals.ended.items() if _names(tree, plan)}
    state = replace(state, goals=Goals(event.version, tree, kept))
    if not event.call:
        return state
    calls = {key: call for key, call in state.calls.items() if key != event.call}
    item = Item(state.seq, "tool", f'{{"status":"ok","version":{event.version}}}', by=GOALS, call=event.call)
    return replace(state, calls=calls, items=added(state.items, item), owes=not state.ended)


def plan_ended(state: SessionState, event: ev.RoundEnded) -> SessionState:
    """What a task that names this plan will be told of it, when another plan has taken its place."""
    held, saved = state.goals, state.plans.saved
    if held.tree is None or not saved or event.because or not _names(held.tree, saved):
        return state
    how: Literal["done", "failed"] = "done" if event.counts.keys() <= {"done", "skipped"} else "failed"
    return replace(state, goals=replace(held, ended={**held.ended, saved: how}))


def _names(tree: Goal, saved: str) -> bool:
    return any(task.plan in (saved, saved.partition("@")[0]) for _, task in goals.walk(tree) if task.plan)


def of_plans(state: SessionState) -> Mapping[str, Standing]:
    """How far saved plans have come in this session, by `name` and by `name@version`: those that ended, those that
    calls are handed over to, and the one that is being carried out.
    """
    found = {plan: _ended(how) for plan, how in state.goals.ended.items()}
    plans = state.plans
    for call in plans.plan.calls:
        if call.delegate and call.id in plans.own.outcomes:
            found[call.delegate] = _handed_over(plans.own.outcomes[call.id].status)
    if plans.saved and plans.is_open:
        total = len(plans.plan.calls) * len(plans.members)
        found[plans.saved] = Standing("running", 100 * (total - plans.left) // total if total else 0)
    return {**{plan.partition("@")[0]: standing for plan, standing in found.items()}, **found}


def _handed_over(status: str) -> Standing:
    if status in ("done", "skipped"):
        return _ended("done")
    return Standing("running", 0) if status in ("running", "asked") else _ended("failed")


def _ended(how: Literal["done", "failed"]) -> Standing:
    return Standing(how, 100) if how == "done" else Standing(how, 0, "its plan did not go well")
