"""What of a tool's result is recorded nowhere: the paths that the tool masks.

A mark takes the value's place before the result is committed, so no entry, state, page, export, model or log has it.
A later call cannot be given it either.
"""

from __future__ import annotations

import re
from typing import Any

MARK = "[masked]"
_PATH = re.compile(r"[^.\[\]\s]{1,100}(\.[^.\[\]\s]{1,100}){0,20}")


def is_path(text: str) -> bool:
    """Whether this can be a path: names of members with dots between, `accounts.number`."""
    return _PATH.fullmatch(text) is not None


def masked(result: Any, paths: tuple[str, ...]) -> Any:
    """The result with a mark at each of `paths`. A path that goes through a list means that of each item; one that
    leads nowhere changes nothing. The result given is left as it is.
    """
    for path in paths:
        result = _without(result, path.split("."))
    return result


def _without(value: Any, parts: list[str]) -> Any:
    if not parts:
        return MARK
    if isinstance(value, list):
        return [_without(item, parts) for item in value]
    if isinstance(value, dict) and parts[0] in value:
        return {**value, parts[0]: _without(value[parts[0]], parts[1:])}
    return value
