"""What policy says of a call on today's values. The model has no part in it."""

from __future__ import annotations

from agentstate.engine.decide.given import Given, ToolFacts
from agentstate.engine.policy import Verdict, evaluate
from agentstate.engine.profile.mapping import tightened
from agentstate.engine.state import Call, SessionState


def verdict_on(state: SessionState, call: Call, facts: ToolFacts, given: Given) -> Verdict:
    """The strictest verdict on `call` as it would run now, made stricter by what its customer wants."""
    values = {
        "arguments": call.arguments,
        "state": state.pad,
        "history": {"refusals": state.refusals, "calls": state.proposed, "messages": state.messages},
        "session": {"agent": state.opened.agent, "channel": state.opened.channel} if state.opened else {},
    }
    verdict = evaluate(given.policy, call.tool, facts.effect, values)
    return tightened(verdict, state.user.tightenings, call.tool, values)
