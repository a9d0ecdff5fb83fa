"""The bounded context: what a model is shown of a session, built from its state alone.

A call and its result are never parted. A call that still waits for a person is shown with the result "waiting"; what
became of it after somebody spoke again is told at the place where it became known.
"""

from __future__ import annotations

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, ItemCall
from agentstate.engine.state import SessionState
from sessions.agents.model import ContextMessage, ModelRequest, ProposedCall
from sessions.agents.registry import Agent, tool_specs

WAITING = '{"status":"waiting","reason":"A colleague has to decide. Keep the customer company; promise nothing."}'


def build(agent: Agent, model: str, state: SessionState) -> ModelRequest:
    """The request for the model's next answer."""
    return ModelRequest(
        model=model,
        instructions=agent.instructions,
        messages=tuple(_messages(state.items)),
        tools=tool_specs(agent),
        state={**state.pad, "session": _session(state)},
    )


def _session(state: SessionState) -> dict[str, str]:
    """What every agent may know of its session. Facts, so they stand over anything the scratchpad holds there."""
    opened = state.opened
    return {"customer": opened.customer, "channel": opened.channel, "topic": opened.topic} if opened else {}


def digest(request: ModelRequest) -> str:
    """SHA-256 over the exact request, as `model.requested` records it."""
    return ev.digest(msgspec.to_builtins(request))


def _messages(items: tuple[Item, ...]) -> list[ContextMessage]:
    messages: list[ContextMessage] = []
    told: set[str] = set()
    for index, item in enumerate(items):
        if item.role == "tool":
            if item.call not in told:
                messages.append(ContextMessage("note", item.text, name=item.by, call_id=item.call))
        elif item.calls:
            _add_calls(messages, item)
            results = _prompt_results(items, index)
            messages += [_result(call, results.get(call.id, "")) for call in item.calls]
            told |= results.keys()
        else:
            messages.append(ContextMessage(item.role, item.text))
    return messages


def _add_calls(messages: list[ContextMessage], item: Item) -> None:
    """The calls, joined to what the agent said with them."""
    calls = tuple(ProposedCall(call.id, call.tool, call.arguments, call.output_path) for call in item.calls)
    if messages and messages[-1].role == "agent" and not messages[-1].calls:
        messages[-1] = msgspec.structs.replace(messages[-1], calls=calls)
    else:
        messages.append(ContextMessage("agent", item.text, calls=calls))


def _prompt_results(items: tuple[Item, ...], index: int) -> dict[str, str]:
    """The results that came before anybody spoke again."""
    results = {}
    for item in items[index + 1 :]:
        if item.role != "tool":
            break
        results[item.call] = item.text
    return results


def _result(call: ItemCall, text: str) -> ContextMessage:
    return ContextMessage("tool", text or WAITING, name=call.tool, call_id=call.id)
