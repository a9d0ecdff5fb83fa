"""Values in a chart: what may be put where, how large it may be, and delays as text."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from agentstate.engine.charts.state import MAX_DATA, MAX_NESTED
from agentstate.engine.instants import parse, stamp

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_DELAY = re.compile(r"(\d{0,9})(?:\.(\d{1,6}))?(ms|s|m|h|d)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
MAX_DELAY = timedelta(days=400)
LARGEST = 2**63


class Unusable(Exception):
    """An error of execution inside the chart: it becomes the event `name`, it does not leave the engine."""

    def __init__(self, why: str, name: str = "error.execution", sendid: str = "") -> None:
        self.why, self.name, self.sendid = why, name, sendid
        super().__init__(why)


def split_path(path: str) -> list[str]:
    """`payee.name` as its parts. Raises Unusable."""
    if not _PATH.fullmatch(path):
        raise Unusable(f"{path!r:.100} is no path")
    return path.split(".")


def placed(data: dict[str, Any], parts: list[str], value: Any) -> Any:
    """The new value of `data[parts[0]]` with `value` at the path. Only the last part may be new. Raises Unusable."""
    head, *rest = parts
    if not rest:
        return value
    inner = data.get(head)
    if not isinstance(inner, dict):
        raise Unusable(f"{head!r} is no object, so there is no {'.'.join(parts)}")
    return {**inner, rest[0]: placed(inner, rest, value)}


def must_fit(value: Any, what: str) -> Any:
    """`value` itself, if it is JSON without fractions, not too large and not too deep. Raises Unusable."""
    size, waiting = 0, [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        size += len(item) if isinstance(item, str) else 8
        if size > MAX_DATA:
            raise Unusable(f"{what} would be larger than {MAX_DATA} bytes")
        if depth > MAX_NESTED:
            raise Unusable(f"{what} would be nested deeper than {MAX_NESTED}")
        if not _is_plain(item):
            raise Unusable(f"{what} holds {item!r:.50}: numbers are integers below 2^63, names are text")
        if isinstance(item, dict):
            size += sum(map(len, item))
            waiting.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, list):
            waiting.extend((inner, depth + 1) for inner in item)
    return value


def _is_plain(item: Any) -> bool:
    if isinstance(item, dict):
        return all(isinstance(key, str) for key in item)
    if type(item) is int:
        return -LARGEST <= item < LARGEST
    return item is None or isinstance(item, bool | str | list)


def delay_of(text: str) -> timedelta:
    """`30s`, `1.5s`, `500ms`, `15m`, `2h`, `1d` as a time span; empty is none. Raises Unusable."""
    if not text:
        return timedelta()
    match = _DELAY.fullmatch(text.strip())
    if match is None or not (match[1] or match[2]):
        raise Unusable(f"{text!r:.100} is no delay such as 30s")
    span = timedelta(seconds=float(f"{match[1] or 0}.{match[2] or 0}") * _SECONDS[match[3]])
    if span > MAX_DELAY:
        raise Unusable(f"{text!r} is longer than {MAX_DELAY.days} days")
    return span


def later(at: str, span: timedelta) -> str:
    """The instant `span` after `at`."""
    return stamp(parse(at) + span)
