"""Values as JSON has them: when two are the same, and what a number is.

Python takes 1, 1.0 and True for equal; a merge must not. Two values are the same when their JSON is.
"""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeGuard

import msgspec

from agentstate.engine.events.base import digest

_sorted = msgspec.json.Encoder(decimal_format="number", order="sorted")


class _Nothing(Enum):
    ABSENT = "absent"


ABSENT: Final = _Nothing.ABSENT  # where there is no value; None is one


def same(one: Any, other: Any) -> bool:
    """Whether both are absent, or their JSON is the same."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return _sorted.encode(one) == _sorted.encode(other)


def text(value: Any) -> str:
    """The JSON of a value with sorted keys: what order among values goes by."""
    return _sorted.encode(value).decode()


def mark(value: Any) -> str:
    """A short digest by which an element is known again."""
    return digest(value)[:16]


def is_number(value: Any) -> TypeGuard[int | Decimal]:
    """Whether it is a number: an integer or an exact fraction, no truth value."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
