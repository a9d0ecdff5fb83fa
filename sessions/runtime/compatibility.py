"""Old and new workers side by side: what a session needs and this process does not know is left to those who do."""

from __future__ import annotations

from agentstate.engine.speech import SAY
from agentstate.engine.state import rounds
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.state.session import SessionState
from sessions.agents import registry


class NotKnownHere(Exception):
    """This process is older (or newer) than the one that let a call through; the text is what it does not know."""


def tool_of(state: SessionState, call: str) -> str:
    """The tool of a call that is held or, in a plan, about to begin; empty where the runtime itself carries it out."""
    held = state.calls.get(call)
    planned = rounds.planned(state.plans, call)
    if planned is not None and planned.delegate:
        return ""
    tool = held.tool if held is not None else planned.tool if planned is not None else ""
    return "" if tool in (PLAN, SAY) else tool


def must_be_known(state: SessionState, call: str) -> None:
    """Raises NotKnownHere for a call of a tool, or a version of one, that this process's agent does not have."""
    tool = tool_of(state, call)
    if not tool or state.opened is None:
        return
    facts = registry.facts_for(state.opened.agent).get(tool)
    if facts is None:
        raise NotKnownHere(f"unknown_tool {tool}")
    if (wanted := _approved_version(state, call, tool)) > facts.version:
        raise NotKnownHere(f"unknown_tool {tool} {wanted}")


def _approved_version(state: SessionState, call: str, tool: str) -> int:
    """Returns the version of its tool that a call was approved with, by itself or with its plan; 0: none."""
    held, plan = state.calls.get(call), state.plans.approved
    if held is None:
        return plan.tools.get(tool, 0) if plan is not None and rounds.place_of(state.plans, call) else 0
    request = state.requests.get(held.request)
    return request.asked.tool_version if request is not None and request.asked.call == call else held.tool_version
