"""Finds the figures in what a customer said, so that a page can mark them. Pure; it never says what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = (
    "zero|oh|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|grand"
)
_DIGITS = r"[$€£¥]\s?\d[\d,]*(?:\.\d+)?|\b\d[\d,]*\d(?:\.\d+)?(?:\s?(?:k|thousand|hundred|million|dollars|bucks))?\b"
_SPOKEN = rf"\b(?:{_WORD})(?:(?:[\s,-]+(?:and\s+)?)(?:{_WORD}))+(?:\s+(?:dollars|bucks))?\b"
_FIGURE = re.compile(f"{_DIGITS}|{_SPOKEN}", re.IGNORECASE)


def parts(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is a figure: digits, or at least two number words together."""
    at = 0
    for found in _FIGURE.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], False
        yield found.group(), True
        at = found.end()
    if at < len(text):
        yield text[at:], False
