"""What of a session's state and data a tool, an answering model or a delegate may see."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from agentstate.engine import references
from agentstate.engine.references import Found
from agentstate.engine.scratchpad import put, scopes
from agentstate.engine.scratchpad.private import visible_views
from agentstate.engine.state import rounds
from agentstate.engine.state.session import Call, SessionState
from sessions.agents import registry
from sessions.tools.registry import Tool


def shown_views(state: SessionState, instance: str = "") -> dict[str, Any]:
    """What references of that instance may read, without what is private."""
    private = registry.find(state.opened.agent).memory.private if state.opened else ()
    views = rounds.views_of(state.plans, state.pad, instance)
    brought = rounds.private_schemas_of(state.plans, instance)
    return visible_views(views, rounds.board_of(state.plans, instance), private, brought)


def view_of(state: SessionState, call: Call, tool: Tool) -> dict[str, Any]:
    """What the scopes of tool and call let through, both of them where both are given, without what is private; without
    any, nothing. Beside that, the private places that the tool is declared to receive.
    """
    planned, instance = rounds.planned(state.plans, call.id), rounds.data_instance(state.plans, call.id)
    declared = [each.scopes for each in (tool, planned) if each is not None and each.scopes is not None]
    views = shown_views(state, instance) if declared else {}
    for allowed in declared:
        views = scopes.narrowed(views, allowed)
    for path, found in received(state, call, tool):
        views = put(views, (path.kind, *path.names), found.value)
    return deepcopy(views)


def received(state: SessionState, call: Call, tool: Tool) -> Iterable[tuple[references.Path, Found]]:
    """The private values that the tool of a call is declared to receive, as far as they are there."""
    if not tool.receives:
        return
    views = rounds.views_of(state.plans, state.pad, rounds.data_instance(state.plans, call.id))
    for path in map(references.path, tool.receives):
        if (found := references.read(views, path)) is not None:
            yield path, found
