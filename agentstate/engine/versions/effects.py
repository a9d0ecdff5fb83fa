"""What a session did outside of itself since some point: going back does not undo it.

Every call that may have had an effect is told, also one that failed: a time limit that ran out does not say that
nothing happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state import SessionState, calls_in

_SAID: Mapping[str, Literal["done", "failed"]] = {"happened": "done", "not_happened": "failed"}
MOST_LASTING = 100  # told one by one; older ones are counted


class Declared(msgspec.Struct, frozen=True):
    """What a tool declares: its effect, what it will do in plain words, and what can be done about it afterwards."""

    effect: str
    preview: Callable[[dict[str, Any], dict[str, Any]], str]
    compensation: str = ""
    undone_by: str = ""  # the tool whose call undoes it, where one does
    undo: Callable[[dict[str, Any], Any], dict[str, Any] | None] | None = None  # its arguments


class Since(msgspec.Struct, frozen=True):
    """The effects since a point, oldest first: the newest MOST_LASTING, and how many more there are."""

    lasting: tuple[ev.Lasting, ...] = ()
    more: int = 0


def since(older: SessionState, stored: Iterable[tuple[int, ev.AnyEvent]], tools: Mapping[str, Declared]) -> Since:
    """The effects after `older`, from the entries that followed it (seq and event)."""
    found: dict[str, ev.Lasting] = {}
    said = {request.asked.call: request.asked.preview for request in older.requests.values()}
    for call in calls_in(older, CallStatus.RUNNING):
        found[call.id] = ev.Lasting(call.intent, call.id, call.tool, "unknown", call.arguments)
    for seq, event in stored:
        if isinstance(event, ev.ApprovalRequested):
            said[event.call] = event.preview
        elif isinstance(event, ev.ToolIntended):
            found[event.call] = ev.Lasting(seq, event.call, event.tool, "unknown", event.arguments)
        elif isinstance(event, ev.ToolReturned | ev.ToolFailed) and event.call in found:
            found[event.call] = _undoable(_ended(found[event.call], event), event, tools)
        elif isinstance(event, ev.CallIntervened) and event.call in found and event.how in _SAID:
            found[event.call] = msgspec.structs.replace(found[event.call], outcome=_SAID[event.how])
    effects = [_told(each, older, said, tools) for each in found.values() if _lasts(each, tools)]
    return Since(tuple(effects[-MOST_LASTING:]), max(0, len(effects) - MOST_LASTING))


def _ended(effect: ev.Lasting, event: ev.ToolReturned | ev.ToolFailed) -> ev.Lasting:
    return msgspec.structs.replace(effect, outcome="done" if isinstance(event, ev.ToolReturned) else "failed")


def _undoable(effect: ev.Lasting, event: ev.ToolReturned | ev.ToolFailed, tools: Mapping[str, Declared]) -> ev.Lasting:
    """With the call that would undo it, where its tool declares one and can say which."""
    tool = tools.get(effect.tool)
    if tool is None or tool.undo is None or not isinstance(event, ev.ToolReturned):
        return effect
    try:
        arguments = tool.undo(effect.arguments, event.result)
    except Exception:  # what cannot say how it is undone is not undone by a call
        arguments = None
    if arguments is None:
        return effect
    return msgspec.structs.replace(effect, undo_tool=tool.undone_by, undo=arguments)


def _lasts(effect: ev.Lasting, tools: Mapping[str, Declared]) -> bool:
    """A tool that nobody knows any more may have done anything."""
    return effect.tool not in tools or tools[effect.tool].effect != "pure"


def _told(
    effect: ev.Lasting, older: SessionState, said: Mapping[str, str], tools: Mapping[str, Declared]
) -> ev.Lasting:
    tool = tools.get(effect.tool)
    if tool is None:
        return msgspec.structs.replace(effect, what=said.get(effect.call, ""))
    try:
        what = tool.preview(effect.arguments, older.pad)
    except Exception:  # a preview that breaks must not hide that something happened
        what = said.get(effect.call, "")
    return msgspec.structs.replace(effect, what=what, compensation=tool.compensation)
