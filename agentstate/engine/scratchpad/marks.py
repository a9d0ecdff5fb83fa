"""Write marks: a place that an output has written is not written again in the same round of a plan and epoch.

The first result appended wins. A mark covers what was written: after `state.customer = {"name": ..}` the name is
taken and `state.customer.limit` is free, and after `state.customer.limit` an output to `state.customer` may bring
anything but a limit. Marks are JSON, a tree of names beside the scratchpad's; a rollback restores them with the state,
and a new round or a fork begins with none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Marks = dict[str, Any]

_AIMED = "†"  # below a name: an output was written exactly here. No path has this name.
MAX_KEYS = 200  # keys of one result that are marked one by one; a larger result takes its whole place


def is_free(marks: Marks, names: Iterable[str], value: Any) -> bool:
    """Whether `value` can be written at these names below `state` without touching what an output wrote."""
    here: Marks | None = marks
    for name in names:
        if here is None:
            return False
        if name not in here:
            return True
        here = here[name]
    if here is None or _AIMED in here:
        return False
    return isinstance(value, dict) and not any(key in here for key in value)


def is_written(marks: Marks, names: Iterable[str]) -> bool:
    """Whether an output of this round stands at these names: written there, or as part of what stands above."""
    here: Marks | None = marks
    for name in names:
        if here is None:
            return True
        if name not in here:
            return False
        here = here[name]
    return here is None or _AIMED in here


def marked(marks: Marks, names: Sequence[str], value: Any) -> Marks:
    """The marks after `value` was written at these names (at least one); `marks` itself is unchanged."""
    head, *rest = names
    return {**marks, head: _marked(marks.get(head, {}), rest, value)}


def _marked(here: Marks | None, names: Sequence[str], value: Any) -> Marks | None:
    """None: everything here is written."""
    if here is None or (not names and not _by_key(value)):
        return None
    if names:
        return marked(here, names, value)
    return {**here, **dict.fromkeys(value), _AIMED: None}


def _by_key(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= MAX_KEYS
