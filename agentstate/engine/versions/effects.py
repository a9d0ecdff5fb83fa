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
from agentstate.engine.state.session import SessionState, calls_in

# What a person said of a call: that it happened, that it did not, or what came of it when they did it themselves.
_SAID: Mapping[str, Literal["done", "failed"]] = {"happened": "done", "supply": "done", "not_happened": "failed"}
DELEGATE = "delegate"  # the effect of an intent whose call a session of its own does
MOST_LASTING = 100  # told one by one; older ones are counted


class Declared(msgspec.Struct, frozen=True):
    """What a tool declares: its effect, what it will do in plain words, and what can be done about it afterwards."""

    effect: str
    preview: Callable[[dict[str, Any], dict[str, Any]], str]
    compensation: str = ""
    undone_by: str = ""  # the tool whose call undoes it, where one does
    undo: Callable[[dict[str, Any], Any], dict[str, Any] | None] | None = None  # its arguments


class Since(msgspec.Struct, frozen=True):
    """The effects since a point, oldest first: the newest MOST_LASTING, and how many more there are. `approvals` are
    the standing approvals since that hold beyond their session and may still let calls through.
    """

    lasting: tuple[ev.Lasting, ...] = ()
    more: int = 0
    approvals: tuple[str, ...] = ()


class HandedOver(msgspec.Struct, frozen=True):
    """A call that a session of its own does, from the entry of its intent on."""

    seq: int
    call: str
    session: str


def handed_over(older: SessionState, stored: Iterable[tuple[int, ev.AnyEvent]]) -> list[HandedOver]:
    """Yields the calls that delegates did after `older`, or were doing then. Their effects cannot be undone either."""
    found = {
        call.id: HandedOver(call.intent, call.id, call.delegate)
        for call in calls_in(older, CallStatus.RUNNING)
        if call.delegate
    }
    for seq, event in stored:
        if isinstance(event, ev.CallDelegated):
            found[event.call] = HandedOver(seq, event.call, event.session)
    return list(found.values())


def since(older: SessionState, stored: Iterable[tuple[int, ev.AnyEvent]], tools: Mapping[str, Declared]) -> Since:
    """The effects after `older`, from the entries that followed it (seq and event). A call that was handed over did
    nothing itself: see `handed_over`.
    """
    found: dict[str, ev.Lasting] = {}
    said = {request.asked.call: request.asked.preview for request in older.requests.values()}
    for call in calls_in(older, CallStatus.RUNNING, CallStatus.DOUBTED):
        if not call.delegate:
            found[call.id] = ev.Lasting(call.intent, call.id, call.tool, "unknown", call.arguments)
    for seq, event in stored:
        if isinstance(event, ev.ApprovalRequested):
            said[event.call] = event.preview
        elif isinstance(event, ev.ToolIntended) and event.effect != DELEGATE:
            found[event.call] = ev.Lasting(seq, event.call, event.tool, "unknown", event.arguments)
        elif isinstance(event, ev.ToolReturned | ev.ToolFailed) and event.call in found:
            found[event.call] = _undoable(_ended(found[event.call], event), event, tools)
        elif isinstance(event, ev.CallIntervened) and event.how in _SAID:
            found |= _settled(seq, event, older, found)
    effects = [_told(each, older, said, tools) for each in found.values() if _lasts(each, tools)]
    effects.sort(key=lambda effect: effect.seq)
    return Since(tuple(effects[-MOST_LASTING:]), max(0, len(effects) - MOST_LASTING))


def given_since(stored: Iterable[tuple[int, ev.AnyEvent]]) -> tuple[str, ...]:
    """Returns the standing approvals that these entries gave beyond their session."""
    return tuple(event.grant for _, event in stored if isinstance(event, ev.GrantGiven) and event.scope != "session")


def _settled(
    seq: int, event: ev.CallIntervened, older: SessionState, found: Mapping[str, ev.Lasting]
) -> dict[str, ev.Lasting]:
    """What a person said became of a call, also of one that had begun before."""
    call = older.calls.get(event.call)
    effect = found.get(event.call) or (ev.Lasting(seq, call.id, call.tool, "unknown", call.arguments) if call else None)
    return {event.call: msgspec.structs.replace(effect, outcome=_SAID[event.how])} if effect is not None else {}


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
