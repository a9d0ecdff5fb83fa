"""Values, names and results of code in words, and the rows of a scratchpad."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from agentstate.engine.speech import SAY
from sessions.descriptions.sentence import Data
from sessions.text import money

LONGEST = 160  # characters of one value in a list
MOST_FACTS = 5  # of one result in one line
MOST_ROWS = 80  # of a scratchpad on a page
MOST_OF_GROUP = 6  # of them beside a conversation
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)")


class Group(NamedTuple):
    """Rows of a scratchpad under one name. `more` are left out."""

    name: str
    title: str
    rows: list[tuple[str, str]]
    more: int


def result(shown: str) -> str:
    """What a tool gave back, as a model was shown it, in words."""
    try:
        given = msgspec.json.decode(shown)
    except (msgspec.MsgspecError, RecursionError):
        return shown
    if not isinstance(given, dict):
        return value(given)
    return value(given["result"]) if "result" in given else facts({k: v for k, v in given.items() if k != "status"})


def plain(name: str) -> str:
    """A name of code as words: load_customer becomes "Load customer"; `say`, under which words are judged, "Speech"."""
    if name == SAY:
        return "Speech"
    words = name.rsplit(".", 1)[-1].replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:] if words else name


def value(given: object) -> str:
    """A value on one line."""
    if money.is_money(given):
        return money.show(given)
    if isinstance(given, bool):
        return "yes" if given else "no"
    if given is None:
        return "nothing"
    if isinstance(given, int | Decimal | float):
        return str(given)
    if isinstance(given, dict):
        return account(given) or facts(given)
    if isinstance(given, list):
        return _listed(given)
    return clipped(text(str(given)))


def unwritten(data: Data) -> str:
    """Returns why an error or an answer is not written where its plan says; empty: it is, or nothing was to be."""
    return f". Not written to the state: {data['unwritten']}" if data.get("unwritten") else ""


def text(given: str) -> str:
    """A text as it is, but an instant as pages write it: in UTC, to the minute."""
    if not _INSTANT.fullmatch(given):
        return given
    try:
        return f"{datetime.fromisoformat(given).astimezone(UTC):%d %b %Y %H:%M}"
    except (ValueError, OverflowError):
        return given


def account(given: Data) -> str:
    """An account in short, "savings ··2207", or nothing when the value is none."""
    if not (isinstance(given.get("kind"), str) and isinstance(given.get("last4"), str)):
        return ""
    balance = given.get("balance")
    return f"{given['kind']} ··{given['last4']}" + (f", {money.show(balance)}" if money.is_money(balance) else "")


def facts(given: Data) -> str:
    """The facts of an object on one line: lists are counted, the rest is named."""
    told = []
    for name, item in list(given.items())[:MOST_FACTS]:
        if isinstance(item, list) and item and isinstance(item[0], dict):
            told.append(f"{len(item)} {name}")
        elif name == "at" and isinstance(item, str):
            told.append(text(item))
        elif item not in (None, "", [], {}):
            told.append(f"{plain(name).lower()} {value(item)}")
    return clipped(", ".join(told))


def _listed(items: list[Any]) -> str:
    return clipped(", ".join(value(item) for item in items[:MOST_FACTS]) + (", …" if len(items) > MOST_FACTS else ""))


def clipped(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def rows(pad: Data, path: str = "") -> list[tuple[str, str]]:
    """A scratchpad as paths and values, bounded; none of one that holds nothing."""
    found: list[tuple[str, str]] = []
    for row in _rows(pad, path) if pad or path else ():
        found.append(row)
        if len(found) == MOST_ROWS:
            break
    return found


def groups(shown: list[tuple[str, str]]) -> list[Group]:
    """Rows by the first name of their paths, in that order; of each the first few."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path, told in shown:
        name, _, rest = path.partition(".")
        found.setdefault(name, []).append((_place(rest) or plain(name), told))
    return [
        Group(name, plain(name), held[:MOST_OF_GROUP], max(0, len(held) - MOST_OF_GROUP))
        for name, held in found.items()
    ]


def _place(path: str) -> str:
    """accounts.0.holder becomes "Accounts 1 holder"."""
    parts = [str(int(part) + 1) if part.isdecimal() else plain(part).lower() for part in path.split(".") if part]
    told = " ".join(parts)
    return told[:1].upper() + told[1:]


def _rows(given: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(given, dict) and given and not money.is_money(given) and not account(given):
        for name, item in given.items():
            yield from _rows(item, f"{path}.{name}" if path else name)
    elif isinstance(given, list) and any(isinstance(item, dict) for item in given):
        for number, item in enumerate(given):
            yield f"{path}.{number}", value(item)
    else:
        yield path, value(given)


def long(seconds: int) -> str:
    """A length of time in the largest unit that it fills."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}{'s' if seconds >= 2 * size else ''}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"
