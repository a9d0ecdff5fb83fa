"""A conversation as people read it, made from entries: what was said, what was done, what was asked and decided.

Pure. A call and its result may stand far apart in the log, or on two pages: what is not there is not told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from sessions.core.entry_lines import EntryLine
from sessions.descriptions import entries as descriptions_entries
from sessions.descriptions import values

ItemKind = Literal["said", "call", "request", "decision", "notice"]
ERASED = "Erased with its subject."


@dataclass
class Item:
    """One thing on the page; `seq` is the entry it began with and names it."""

    seq: int
    kind: ItemKind
    at: str
    actor: str = ""
    role: str = ""
    text: str = ""
    tool: str = ""
    # of a call: proposed, waiting, running, retrying, done, failed, refused, withdrawn; of a request: its outcome
    state: str = ""
    result: str = ""
    raw: str = ""
    number: int = 0
    seconds: float | None = None
    request: str = ""
    tier: int = 0
    expires_at: str = ""
    reason: str = ""
    retry_until: str = ""  # of a call that is tried again: until when

    @property
    def key(self) -> str:
        """What names the item on a page: its entry, and its place among several calls of one answer."""
        return f"{self.seq}-{self.number}" if self.number else str(self.seq)

    @property
    def asked(self) -> datetime:
        """When a request was made."""
        return datetime.fromisoformat(self.at)

    @property
    def until(self) -> datetime:
        """When a request expires."""
        return datetime.fromisoformat(self.expires_at)


@dataclass
class _Reading:
    """What is known while the entries are gone through."""

    items: list[Item] = field(default_factory=list)
    calls: dict[str, Item] = field(default_factory=dict)
    requests: dict[str, Item] = field(default_factory=dict)
    begun: dict[str, str] = field(default_factory=dict)

    def add(self, item: Item) -> Item:
        self.items.append(item)
        return item


def items(entries: Iterable[EntryLine]) -> list[Item]:
    """The items of a stretch of entries, in order."""
    reading = _Reading()
    for entry in entries:
        if entry.data is None:
            if entry.kind == "message.added":
                reading.add(Item(entry.seq, "notice", entry.at, text=ERASED))
            continue
        if (tell := _TELL.get(entry.kind)) is not None:
            tell(reading, entry, entry.data)
    return reading.items


def tools_by_call(entries: Iterable[EntryLine]) -> dict[str, str]:
    """Which tool each call of these entries is of; entries about a call mostly name the call alone."""
    found: dict[str, str] = {}
    for entry in entries:
        if entry.kind == "model.answered" and entry.data:
            found |= {call["id"]: call["tool"] for call in entry.data.get("calls", ())}
        elif entry.kind in ("tool.intended", "approval.requested") and entry.data:
            found[entry.data["call"]] = entry.data["tool"]
    return found


def raw(value: Any) -> str:
    """A value as indented JSON; numbers keep the text in which they arrived."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=_number)


def _number(value: object) -> Any:
    return str(value) if isinstance(value, Decimal) else repr(value)


def _said(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    reading.add(Item(entry.seq, "said", entry.at, entry.actor, role=data["role"], text=data["text"]))


def _proposed(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    calls = data.get("calls", ())
    if data.get("cut"):
        sentence = descriptions_entries.entry(entry.kind, {**data, "calls": ()})
        notice = Item(entry.seq, "notice", entry.at, entry.actor, text=sentence.act, reason=sentence.about)
        notice.number = len(calls)
        reading.add(notice)
    for number, call in enumerate(calls):
        item = _call(entry, call["tool"], call["arguments"])
        item.number = number
        reading.calls[call["id"]] = reading.add(item)


def _call(entry: EntryLine, tool: str, arguments: dict[str, Any]) -> Item:
    return Item(
        entry.seq, "call", entry.at, tool=tool, state="proposed", raw=raw({"tool": tool, "arguments": arguments})
    )


def _begun(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    item = reading.calls.get(data["call"])
    if item is None:
        item = reading.calls[data["call"]] = reading.add(_call(entry, data["tool"], data["arguments"]))
    elif item.state == "waiting":  # what was done stands after the decision that let it be done
        reading.items.remove(item)
        reading.add(item)
    item.state = "running"
    item.raw = raw({"tool": data["tool"], "arguments": data["arguments"]})
    reading.begun[data["call"]] = entry.at


def _returned(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    item = reading.calls.get(data["call"])
    if item is not None:
        item.state, item.result = "done", values.value(data["result"])
        item.raw = f"{item.raw}\n\n{raw({'result': data['result']})}"
        item.seconds = _seconds(reading.begun.get(data["call"]), entry.at)


def _failed(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    item = reading.calls.get(data["call"])
    if item is not None:
        again = bool(data.get("retry_at"))
        item.retry_until = data.get("retry_until", "") if again else ""
        until = f" until {item.retry_until[11:19]}" if item.retry_until else ""
        item.state = "retrying" if again else "failed"
        item.result = f"{data['reason']}, will be retried{until}" if again else data["reason"]


def _doubted(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    item = reading.calls.get(data["call"])
    if item is not None:
        item.state, item.result = "failed", data["reason"]


def _intervened(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    item = reading.calls.get(data["call"])
    if item is not None and data["how"] in ("supply", "happened"):
        item.state, item.result = "done", values.value(data["result"])
    _notice(reading, entry, data)


def _refused(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    item = reading.calls.get(data["call"])
    if item is not None:
        item.state, item.result = "refused", data["reason"]


def _withdrawn(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    item = reading.calls.get(data["call"])
    if item is not None:
        item.state, item.result = "withdrawn", data["because"]
    asked = reading.requests.get(data["request"])
    if asked is not None:
        asked.state, asked.reason = "not_done", data["because"]


def _asked(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    if (call := reading.calls.get(data["call"])) is not None:
        call.state = "waiting"
    reading.requests[data["request"]] = reading.add(
        Item(
            entry.seq,
            "request",
            entry.at,
            text=data["preview"] or values.plain(data["tool"]),
            tool=data["tool"],
            state="pending",
            request=data["request"],
            tier=data["tier"],
            expires_at=data["expires_at"],
        )
    )


def _decided(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    sentence = descriptions_entries.entry(entry.kind, data)
    reading.add(Item(entry.seq, "decision", entry.at, entry.actor, text=sentence.act, reason=sentence.about))


def _undone(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    item = reading.requests.get(data["request"])
    if item is not None and data.get("until"):
        item.expires_at = data["until"]


def _closed(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    item = reading.requests.get(data["request"])
    if item is not None:
        item.state, item.reason = data["outcome"], data.get("because", "")


def _notice(reading: _Reading, entry: EntryLine, data: dict[str, Any]) -> None:
    sentence = descriptions_entries.entry(entry.kind, data)
    reading.add(Item(entry.seq, "notice", entry.at, entry.actor, text=sentence.act, reason=sentence.about))


def _seconds(begun: str | None, ended: str) -> float | None:
    if begun is None:
        return None
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()


_TELL: dict[str, Callable[[_Reading, EntryLine, dict[str, Any]], None]] = {
    "session.opened": _notice,
    "message.added": _said,
    "model.answered": _proposed,
    "model.failed": _notice,
    "call.refused": _refused,
    "call.withdrawn": _withdrawn,
    "tool.intended": _begun,
    "tool.returned": _returned,
    "tool.failed": _failed,
    "call.doubted": _doubted,
    "call.intervened": _intervened,
    "session.retried": _notice,
    "compensation.ordered": _notice,
    "approval.requested": _asked,
    "decision.made": _decided,
    "request.undone": _undone,
    "request.ended": _closed,
    "session.expired": _notice,
    "session.reopened": _notice,
    "session.forked": _notice,
    "session.rolled_back": _notice,
    "message.drafted": _notice,
    "fork.promoted": _notice,
    "session.superseded": _notice,
    "conflict.opened": _notice,
    "conflict.ended": _notice,
    "session.taken_over": _notice,
    "session.passed_on": _notice,
    "session.handed_back": _notice,
    "guidance.given": _notice,
    "model.dropped": _notice,
    "session.human_requested": _notice,
    "session.human_withdrawn": _notice,
    "work.assigned": _notice,
    "session.ended": _notice,
    "session.failed": _notice,
    "run.stopped": _notice,
    "run.granted": _notice,
    "run.interrupted": _notice,
    "circle.noticed": _notice,
    "message.queued": _notice,
    "message.refused": _notice,
}
