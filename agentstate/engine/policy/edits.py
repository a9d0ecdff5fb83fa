"""Which arguments of a call a reviewer may edit and still decide it, as data of a rule.

An editor proposes another call. A rule names the arguments whose edit counts as the editor's own approval: `{"path":
"arguments.amount.minor", "only": "down"}`. Every other edit is a new call, and another person decides it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Direction = Literal["", "down", "up"]
_ABSENT = object()


class Editable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An argument that may be edited, with everything below it. `only`: a number that may go this way alone."""

    path: str
    only: Annotated[Direction, Meta(description="down or up: a number may go this way alone; empty: any value")] = ""


def not_editable(named: Sequence[Editable], old: Any, new: Any) -> tuple[str, ...]:
    """Returns the paths at which `new` arguments differ from `old` ones although no rule names them, or in a direction
    that it does not name; empty: the edit is within what is named.
    """
    changes = _changed("arguments", old, new)
    return tuple(path for path, was, now in changes if not any(_allows(each, path, was, now) for each in named))


def named_by_all(each: Iterable[Sequence[Editable]]) -> tuple[Editable, ...]:
    """Returns the arguments that all of these name, in the direction of each of them."""
    lists = list(each)
    if not lists:
        return ()
    found = list(lists[0])
    for other in lists[1:]:
        found = [both for one in found for two in other if (both := _narrower(one, two)) is not None]
    return tuple(dict.fromkeys(found))


def _narrower(one: Editable, other: Editable) -> Editable | None:
    if one.path != other.path or (one.only and other.only and one.only != other.only):
        return None
    return one if one.only else other


def _allows(named: Editable, path: str, was: Any, now: Any) -> bool:
    if not named.only:
        return path == named.path or path.startswith(f"{named.path}.")
    if path != named.path or not _is_number(was) or not _is_number(now):
        return False
    return bool(now < was) if named.only == "down" else bool(now > was)


def _below(path: str, name: Any) -> str:
    """The path of one value of an object. A name with a dot in it is quoted, or it would read as two."""
    return f"{path}.{name!r}" if "." in str(name) else f"{path}.{name}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _changed(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """Where two values differ, leaf by leaf; a list is one leaf."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in (*old, *(name for name in new if name not in old)):
            yield from _changed(_below(path, name), old.get(name, _ABSENT), new.get(name, _ABSENT))
    elif type(old) is not type(new) or old != new:
        yield path, old, new
