"""What of a tool's result is recorded nowhere: the paths that the tool masks, and copies of private values.

A mark takes the value's place before the result is committed, so no entry, state, page, export, model or log has it.
A later call cannot be given it either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MARK = "[masked]"
SHORTEST_COPY = 4  # characters of a private value whose copies are masked: a shorter one is found everywhere
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


def without_copies(value: Any, private: Iterable[Any]) -> Any:
    """The value with a mark in place of each copy of a text or a number of `private`, in keys and within texts too."""
    found = sorted(set(_texts(list(private))), key=len, reverse=True)
    return _marked(value, found) if found else value


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict | list):
        for each in value if isinstance(value, list) else (*value, *value.values()):
            yield from _texts(each)
    elif not isinstance(value, bool) and value is not None and len(str(value)) >= SHORTEST_COPY:
        yield str(value)


def _marked(value: Any, found: list[str]) -> Any:
    if isinstance(value, dict):
        return {_marked(key, found): _marked(each, found) for key, each in value.items()}
    if isinstance(value, list):
        return [_marked(each, found) for each in value]
    if isinstance(value, str):
        for text in found:
            value = value.replace(text, MARK)
        return value
    return MARK if not isinstance(value, bool) and str(value) in found else value
