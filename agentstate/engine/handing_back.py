"""What is proposed as the summary of a hand-back: what was said, decided and changed while a person had the session.

Pure and deterministic: a line an event, in order; where there is no room, the oldest words go first, never what was
done.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentstate.engine import events as ev
from agentstate.engine.memory.lines import clipped

LONGEST = 2_000  # characters of a summary
SAID = 160  # characters of one thing said
OPENING = (
    "Do not greet again and do not introduce yourself: go on from where the conversation stands, and do not ask again"
    " for what was settled."
)
NOTHING = "Nothing was said or done meanwhile."


def summary_of(events: Iterable[ev.AnyEvent]) -> str:
    """The proposal for the events since a take-over."""
    tools: dict[str, str] = {}
    lines: list[tuple[bool, str]] = []  # whether it may go, and its words
    for event in events:
        match event:
            case ev.MessageAdded(role="customer", text=text):
                lines.append((True, f"Customer: {clipped(text, SAID)}"))
            case ev.MessageAdded(role="staff", text=text):
                lines.append((True, f"Colleague: {clipped(text, SAID)}"))
            case ev.ToolIntended(call=call, tool=tool):
                tools[call] = tool
            case ev.ApprovalRequested(request=request, tool=tool):
                tools[request] = tool
            case _:
                lines += [(False, line) for line in _done(event, tools)]
    return _fitted(lines) or NOTHING


def _done(event: ev.AnyEvent, tools: dict[str, str]) -> list[str]:
    match event:
        case ev.ToolReturned(call=call):
            return [f"Done: {_plain(tools.get(call, 'a step'))}"]
        case ev.ToolFailed(call=call, reason=reason, retry_at=""):
            return [f"Failed: {_plain(tools.get(call, 'a step'))}, {clipped(reason, SAID)}"]
        case ev.DecisionMade(decision=decision, request=request, reason=reason):
            about = f": {clipped(reason, SAID)}" if reason else ""
            return [f"Decided: {decision} {_plain(tools.get(request, 'a request'))}{about}"]
        case ev.RequestEnded(outcome="expired" | "withdrawn" as outcome, request=request):
            return [f"{outcome.capitalize()}: {_plain(tools.get(request, 'a request'))}"]
        case ev.StateChanged(writes=writes):
            return [f"Changed: {', '.join(write.path for write in writes)}"]
        case ev.SessionPassedOn(to=to) if to:
            return ["Passed on to another colleague"]
        case _:
            return []


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _fitted(lines: list[tuple[bool, str]]) -> str:
    kept = list(lines)
    while sum(len(line) + 1 for _, line in kept) > LONGEST:
        gone = next((place for place, (may_go, _) in enumerate(kept) if may_go), 0)
        del kept[gone]
    return "\n".join(line for _, line in kept)
