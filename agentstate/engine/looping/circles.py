"""Noticing that an agent goes in circles: the same call, with the same arguments, to the same result, again and again;
or two calls by turns.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

PERIODS = (1, 2)  # one call, or two by turns
_sorted = msgspec.json.Encoder(decimal_format="number", order="sorted")


def mark_of(tool: str, arguments: dict[str, Any], told: str) -> str:
    """What a call came to, as 16 hex digits: equal calls that were told the same have equal marks."""
    data = _sorted.encode((tool, arguments, told))
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def circle(marks: tuple[str, ...], repeats: int) -> tuple[str, ...]:
    """The marks of the circle that `marks` end with, gone through `repeats` times; empty where there is none."""
    if repeats < 1:
        return ()
    for period in PERIODS:
        tail = marks[-period * repeats :]
        if len(tail) == period * repeats and all(mark == tail[i % period] for i, mark in enumerate(tail)):
            return tail[:period]
    return ()
