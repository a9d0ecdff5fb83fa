"""The goals of a session: a tree of tasks, bounded by `plan.goals`; how far it has come follows from the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, added
from agentstate.engine.plan import goals
from agentstate.engine.plan.goals import Goal

if TYPE_CHECKING:
    from agentstate.engine.state.session import SessionState

GOALS = "goals"  # the tool by which a model takes a goal apart


class Goals(msgspec.Struct, frozen=True):
    """The tree in force, if there is one, and how many there were."""

    version: int = 0
    tree: Goal | None = None


def goals_set(state: SessionState, event: ev.GoalsSet, at: str) -> SessionState:
    """The new tree. A model that made it is told so: its call has ended."""
    state = replace(state, goals=Goals(event.version, goals.read(event.tree)))
    if not event.call:
        return state
    calls = {key: call for key, call in state.calls.items() if key != event.call}
    item = Item(state.seq, "tool", f'{{"status":"ok","version":{event.version}}}', by=GOALS, call=event.call)
    return replace(state, calls=calls, items=added(state.items, item), owes=not state.ended)
