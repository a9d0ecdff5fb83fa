"""What the agent says: said at once, or judged as a call of `say` where a rule of the policy names that tool.

This is the only place that adds words of the agent to the conversation. Words that a rule holds or refuses, and words
behind others that wait, are a call; when the call begins, they are said, in the same commit. A fork has no listener:
it drafts.
"""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide.context import CommandContext, ToolFacts
from agentstate.engine.decide.gates import judged
from agentstate.engine.decide.plans.force import plan_tool
from agentstate.engine.decide.say import FACTS, tool_named
from agentstate.engine.decide.verdicts import policy_on
from agentstate.engine.decide.withdrawals import call_withdrawn
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.speech import SAY
from agentstate.engine.state.calls import open_speeches
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.state.session import Call, SessionState

SPOKEN_OVER = "A person took over the conversation before these words were said."


def facts_of(tool: str, state: SessionState, context: CommandContext) -> ToolFacts | None:
    """Returns what rules know of a tool of a call that stands in the session: one of the agent's, the plan, or what the
    agent says. None: the tool is not registered any more.
    """
    return plan_tool(state, context) if tool == PLAN else tool_named(tool, context)


def message(state: SessionState, text: str, by: str) -> ev.MessageAdded | ev.MessageDrafted:
    """What the agent says, or in a fork would have said."""
    return ev.MessageDrafted(text, by) if state.versions.is_draft else ev.MessageAdded("agent", text, by)


def proposed(state: SessionState, text: str, context: CommandContext) -> ev.CallProposed | None:
    """Returns the call that words become before they are said; None: they are said at once."""
    if not text or not context.policy.judges_speech or state.versions.is_draft:
        return None
    call = Call("", SAY, {"text": text}, None, CallStatus.PROPOSED)
    verdict, _ = policy_on(state, call, FACTS, context)
    if verdict.gate == "allow" and not open_speeches(state):
        return None
    return ev.CallProposed(context.new_id(), SAY, call.arguments)


def gated(state: SessionState, call: Call, context: CommandContext) -> ev.AnyEvent:
    """What becomes of proposed words: they may be said in their turn, wait for a person, or are refused."""
    return judged(state, call, FACTS, context)


def said(state: SessionState, call: Call, intent: ev.ToolIntended) -> list[ev.AnyEvent]:
    """The words that were allowed, exactly, in one commit with their intent and their result."""
    words = message(state, call.arguments["text"], _author(state, call))
    return [intent, ev.ToolReturned(call.id, intent.attempt, {"said": True}), words]


def _author(state: SessionState, call: Call) -> str:
    """Returns the person who edited the words last, else the model that wrote them."""
    wrote = (item.by for item in reversed(state.items) if any(each.id == call.id for each in item.calls))
    return call.authors[-1] if call.authors else next(wrote, "agent")


def withdrawn(state: SessionState, by: str) -> list[ev.AnyEvent]:
    """Returns the end of all words that are not said yet: a person speaks with the customer now."""
    return [
        ev.RequestEnded(call.request, "withdrawn", SPOKEN_OVER)
        if call.status is CallStatus.WAITING
        else call_withdrawn(state, call, SPOKEN_OVER, "requested", by)
        for call in open_speeches(state)
    ]
