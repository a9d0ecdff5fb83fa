"""Private values of a session's state in a text, whatever their case, spaces and punctuation.

A value is found where its letters and digits follow each other in the text. Short values (below LONG) are found as
words, or several words together, so that they are not seen in the middle of others. A paraphrase or a part of a value
is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

from agentstate.engine.speech.plain import cleaned, plain_of

Views = Mapping[str, Any]  # values by the first name of their paths: `state`, and the kinds of data messages
LONG = 6  # characters from which a value is looked for within words
SHORTEST = 3  # below, a value is not looked for: it would be found everywhere
MAX_VALUES = 2_000  # private values that are looked for
_ALIKE = re.compile(r"[\W_]+")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})\Z")
_MONEY = frozenset({"minor", "currency"})


def private_in(
    plain: str, amounts: Sequence[Mapping[str, Any]], views: Iterable[Views], paths: Iterable[str]
) -> list[str] | None:
    """Returns the paths of the private values that are in a plain text, sorted; None where there are too many values to
    look for. `amounts` are those of the text.
    """
    places = [path.split(".") for path in paths]
    held = {(".".join(names), value) for view in views for names in places for value in _leaves(_at(view, names))}
    if len(held) > MAX_VALUES:
        return None
    if not held:
        return []
    words = [word for word in _ALIKE.split(plain) if word]
    said = Said(words, {(each["minor"], each["currency"]) for each in amounts})
    return sorted({path for path, value in held if said.holds(value)})


class Said:
    """A text as values are looked for in it: its letters and digits, its words, and its amounts of money."""

    def __init__(self, words: list[str], amounts: set[tuple[int, str]]) -> None:
        self._letters, self._words, self._amounts = "".join(words), words, amounts

    @cached_property
    def _short(self) -> frozenset[str]:
        return _together(self._words)

    def holds(self, value: str | tuple[int, str]) -> bool:
        """Whether the value is in the text."""
        if isinstance(value, tuple):
            return value in self._amounts or (value[0], "") in self._amounts
        return any(self._has(form) for form in _forms(value))

    def _has(self, form: str) -> bool:
        if len(form) >= LONG:
            return form in self._letters
        return len(form) >= SHORTEST and form in self._short


def _together(words: list[str]) -> frozenset[str]:
    """Returns the words, and several words together as far as they make a short value: "12 34"."""
    found: set[str] = set()
    for start in range(len(words)):
        joined = ""
        for word in words[start : start + LONG]:
            joined += word
            if len(joined) >= LONG:
                break
            found.add(joined)
    return frozenset(found)


def _forms(value: str) -> Iterator[str]:
    """Yields a value as its letters and digits; a date in the orders of several countries."""
    yield "".join(_ALIKE.split(plain_of(cleaned(value))))
    if (date := _DATE.match(value)) is not None:
        year, month, day = date.groups()
        yield from (f"{day}{month}{year}", f"{month}{day}{year}", f"{int(day)}{int(month)}{year}")
        yield f"{int(month)}{int(day)}{year}"


def _at(view: Any, names: list[str]) -> Iterator[Any]:
    """Yields what stands at a path; a path through a list means each of its items."""
    if isinstance(view, list):
        for item in view:
            yield from _at(item, names)
    elif not names:
        yield view
    elif isinstance(view, Mapping) and names[0] in view:
        yield from _at(view[names[0]], names[1:])


def _leaves(values: Iterable[Any]) -> Iterator[str | tuple[int, str]]:
    """Yields the texts, numbers and amounts of money within values. Yes, no and null are no values to look for."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if value.keys() == _MONEY and type(value["minor"]) is int:
                yield abs(value["minor"]), str(value["currency"])
            else:
                waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str | int | Decimal) and not isinstance(value, bool):
            yield str(value)
