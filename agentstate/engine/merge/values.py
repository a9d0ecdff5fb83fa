"""Values as JSON has them: when two are the same, how large they may be, and what a number or an amount is.

Python takes 1, 1.0 and True for equal; a merge must not. Two values are the same when their JSON is.
"""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeGuard

import msgspec

from agentstate.engine import events as ev
from agentstate.errors import Invalid

MAX_DEPTH = 32  # of a value, as of a path
MAX_NODES = 20_000  # objects, lists and scalars of one value
_sorted = msgspec.json.Encoder(decimal_format="number", order="sorted")


class _Nothing(Enum):
    ABSENT = "absent"


ABSENT: Final = _Nothing.ABSENT  # where there is no value; None is one


class NotAValue(Invalid):
    """This is no value that a state can hold."""

    code = "not_a_value"


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
    return ev.digest(value)[:16]


def must_be_value(value: Any, path: str) -> None:
    """Raises NotAValue, naming `path`, for floats, keys that are no text, and what is too deep or too large."""
    left, waiting = MAX_NODES, [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        left -= 1
        if left < 0:
            raise NotAValue(f"more than {MAX_NODES} values at {path}", field=path)
        if depth > MAX_DEPTH:
            raise NotAValue(f"deeper than {MAX_DEPTH} at {path}", field=path)
        waiting += [(inner, depth + 1) for inner in _inner(each, path)]


def _inner(value: Any, path: str) -> list[Any]:
    if isinstance(value, dict):
        if not all(isinstance(key, str) and _is_text(key) for key in value):
            raise NotAValue(f"a key that is no text at {path}", field=path)
        return list(value.values())
    if isinstance(value, list):
        return value
    if value is None or isinstance(value, bool | int) or (isinstance(value, str) and _is_text(value)):
        return []
    if isinstance(value, Decimal) and value.is_finite():
        return []
    raise NotAValue(f"got {type(value).__name__} at {path}, want JSON without floats", field=path)


def _is_text(value: str) -> bool:
    """Whether UTF-8 can hold it: half a surrogate pair is no text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(value: Any) -> TypeGuard[int | Decimal]:
    """Whether it is a number: an integer or an exact fraction, no truth value."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def is_money(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether it is an amount of money: whole minor units of a currency."""
    return (
        isinstance(value, dict)
        and value.keys() == {"minor", "currency"}
        and type(value["minor"]) is int
        and isinstance(value["currency"], str)
    )
