"""What a summary says, line by line: who asked what, which tools were called and with what outcome, amounts, decisions.

A line begins with its entry and a word for its kind, so that summaries can be joined and shortened by reading them:
`14 call: transfer(amount USD 4300.00, to_account A-2) → rejected: limit`. When there is no room, what is said goes
first, decisions go last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from agentstate.engine.conversation import Item, ItemCall
from agentstate.engine.memory.groups import Group
from agentstate.engine.memory.importance import outcome
from agentstate.engine.memory.sight import result_without

SHORT, LONG = 120, 1_200  # characters of one line, by how many lines there are
MOST_FACTS = 12  # values of one result
_WORTH: Mapping[str, int] = {"agent": 0, "note": 1, "customer": 2, "call": 3, "staff": 4, "decided": 5}
_UNKNOWN = 4  # what a model wrote
_KIND = re.compile(r"\d+ ([a-z]+):")
_AMOUNT = re.compile(r"[$€£¥]\s?\d[\d,.]*\d|[$€£¥]\s?\d|\b\d[\d,.]*\s?(?:dollars|euros|pounds|USD|EUR|GBP)\b")
_DECIDED = frozenset({"edited", "rejected", "responded", "withdrawn", "expired"})
_decoder = msgspec.json.Decoder(float_hook=str)


def told(groups: list[Group], private: tuple[str, ...], room: int) -> list[str]:
    """The lines of `groups`, which together should fit about `room` characters."""
    width = max(SHORT, min(LONG, room // max(1, len(groups))))
    return [line for group in groups for line in _of_group(group, private, width)]


def worth(line: str) -> int:
    """How late a line goes when there is no room."""
    found = _KIND.match(line)
    return _WORTH.get(found[1], _UNKNOWN) if found else _UNKNOWN


def _of_group(group: Group, private: tuple[str, ...], width: int) -> list[str]:
    answers = {item.call: item for item in group.items if item.role == "tool"}
    head = group.items[0]
    if head.calls:
        return [_call(head, call, answers.get(call.id), private, width) for call in head.calls]
    return [_said(item, private, width) for item in group.items]


def _said(item: Item, private: tuple[str, ...], width: int) -> str:
    kind = "call" if item.role == "tool" else item.role
    return f"{item.seq} {kind}: {_clipped(result_without(item.text, item.place, private), width)}"


def _call(item: Item, call: ItemCall, answer: Item | None, private: tuple[str, ...], width: int) -> str:
    asked = clipped(f"{call.tool}({facts(call.arguments)})", width // 2)
    if answer is None:
        return f"{item.seq} call: {asked} → no result"
    status = outcome(answer) or "done"
    kind = "decided" if status in _DECIDED else "call"
    text = result_without(answer.text, answer.place or call.output_path, private)
    return f"{item.seq} {kind}: {asked} → {clipped(f'{status}: {_answer(text)}', width)}"


def _answer(text: str) -> str:
    try:
        value = _decoder.decode(text)
    except msgspec.MsgspecError:
        return text
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key not in ("status", "final")}
    return facts(value)


def facts(value: Any) -> str:
    """The values of a JSON document on one line, money as an amount, the first few only."""
    found: list[str] = []
    _facts(value, "", found)
    return ", ".join(found) + (", …" if len(found) == MOST_FACTS else "")


def _facts(value: Any, name: str, found: list[str]) -> None:
    if len(found) == MOST_FACTS:
        return
    if isinstance(value, dict) and not _is_money(value):
        for key, item in value.items():
            _facts(item, str(key), found)
    elif isinstance(value, list):
        for item in value:
            _facts(item, name, found)
    else:
        found.append(f"{name} {_scalar(value)}".strip())


def _is_money(value: dict[str, Any]) -> bool:
    return value.keys() == {"minor", "currency"} and isinstance(value["minor"], int)


def _scalar(value: Any) -> str:
    if isinstance(value, dict):
        whole, cents = divmod(abs(value["minor"]), 100)
        return f"{value['currency']} {'-' if value['minor'] < 0 else ''}{whole}.{cents:02}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def clipped(text: str, width: int) -> str:
    """`text` on one line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _clipped(text: str, width: int) -> str:
    """What is said, shortened; amounts that were cut off are named."""
    line = " ".join(text.split())
    short = clipped(line, width)
    lost = [amount for amount in dict.fromkeys(_AMOUNT.findall(line[width:])) if amount not in short]
    return f"{short} [{', '.join(lost[:4])}]" if lost else short
