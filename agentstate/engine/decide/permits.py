"""Permits: what an approval is bound to, and whether that still holds when the call is to run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.decide.given import ToolFacts
from agentstate.engine.policy import Verdict
from agentstate.engine.state import Call, SessionState
from agentstate.engine.state.rounds import data_instance, pad_of


def permit_digest(
    call: str,
    epoch: int,
    tool: str,
    tool_version: int,
    arguments: dict[str, Any],
    basis: tuple[ev.Evidence, ...],
    activity: str = "",
) -> str:
    """What an approval is bound to: call, epoch, tool and version, arguments, the values that were shown, and the
    activity that executes it where that is not the tool's own.
    """
    return ev.digest(call, epoch, tool, tool_version, arguments, basis, *([activity] if activity else []))


def basis_of(state: SessionState, call: str, paths: Iterable[str]) -> tuple[ev.Evidence, ...]:
    """The values that stand at these paths of the call's scratchpad now."""
    pad = pad_of(state.plans, state.pad, data_instance(state.plans, call))
    return tuple(ev.Evidence(path, scratchpad.read(pad, path)) for path in paths)


def changed_since(state: SessionState, call: Call, facts: ToolFacts, verdict: Verdict) -> str:
    """Why the call may not run on what it passed, or an empty string: a gate no stricter than the one passed goes
    on.
    """
    if not call.approved:
        return "" if verdict.gate == "allow" else "Policy asks for a person now."
    passed = state.requests[call.request]
    basis = basis_of(state, call.id, (item.path for item in passed.asked.basis))
    now = permit_digest(call.id, state.epoch, facts.name, facts.version, call.arguments, basis, call.activity)
    if now != call.approved:
        return "What the approval rested on has changed since."
    stricter = verdict.tier > max(passed.asked.tier, call.tier) or verdict.quorum > len(passed.approvals)
    if verdict.gate != "allow" and stricter:
        return "Policy has become stricter since the approval."
    return ""
