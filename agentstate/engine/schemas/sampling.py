"""One scalar that a schema allows: text that fits a pattern or a format, a number within its bounds."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from agentstate.engine.schemas.patterns import TOKEN

_FORMATS = {
    "date": "2026-11-21",
    "date-time": "2026-11-21T03:25:00Z",
    "time": "03:25:00Z",
    "email": "maria@example.com",
    "uuid": "0190b6f1-7f2c-7b43-9d7e-3b1d5f0c2a10",
    "uri": "https://example.com/",
    "ipv4": "192.0.2.1",
}
_CHARACTERS = "0a A-_.@:/x1Z"
_ESCAPES = {"d": "0", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "n": "\n", "t": "\t", "b": "", "B": ""}


def scalar(kind: str, schema: dict[str, Any], pick: int) -> Any:
    """A value of a JSON type other than object and array."""
    if kind == "string":
        return _text(schema, pick)
    if kind in ("integer", "number"):
        return _number(schema, pick, kind == "number")
    return pick % 2 == 0 if kind == "boolean" else None


def _text(schema: dict[str, Any], pick: int) -> str:
    if "pattern" in schema:
        return fitting(schema["pattern"])
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    text = ("Maria Soto", "x", "12")[pick % 3]
    return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength", len(text) + 1_000)]


def _number(schema: dict[str, Any], pick: int, fraction: bool) -> Any:
    least, most = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        least = schema["exclusiveMinimum"] + 1
    if "exclusiveMaximum" in schema:
        most = schema["exclusiveMaximum"] - 1
    choices = [bound for bound in (least, most) if bound is not None] or [1, 0, 7]
    if fraction and least is None:
        choices.append(Decimal("0.5"))
    number = choices[pick % len(choices)]
    step = schema.get("multipleOf")
    return number if step is None else -(-number // step) * step


def fitting(pattern: str) -> str:
    """A text that fits a pattern: the first alternative, the least number of repeats. The caller validates it."""
    made: list[list[str]] = [[]]  # what was made of each open group
    taken = [True]  # whether the alternative that is read stands in the text
    for token in TOKEN.finditer(pattern):
        text, kind = token.group(), token.lastgroup
        if kind == "open":
            made.append([])
            taken.append(taken[-1])
        elif kind == "close" and len(made) > 1:
            inner, _ = "".join(made.pop()), taken.pop()
            if taken[-1]:
                made[-1].append(inner)
        elif kind == "bar":
            taken[-1] = False
        elif taken[-1] and kind in ("repeat", "least", "most"):
            made[-1][-1] *= _times(token)
        elif taken[-1]:
            made[-1].append(_one(kind, text))
    return "".join(made[0])


def _times(repeat: re.Match[str]) -> int:
    return int(repeat["least"]) if repeat["least"] is not None else int(repeat.group()[0] == "+")


def _one(kind: str | None, text: str) -> str:
    if kind == "escape":
        return _ESCAPES.get(text[1], text[1])
    if kind == "set":
        return next((character for character in _CHARACTERS if re.fullmatch(text, character)), "a")
    return {"^": "", "$": "", ".": "a"}.get(text, text)
