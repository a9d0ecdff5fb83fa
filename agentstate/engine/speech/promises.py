"""Phrases by which an agent commits its organization, in English and German.

A short list of plain forms, not an understanding of the language. A rule looks for other words in `arguments.plain`.
"""

from __future__ import annotations

import re

_PHRASES = (
    r"(?:i|we)(?: can| will|'ll| hereby)? (?:promise|guarantee|assure|warrant|commit)\b",
    r"\b(?:it is|it's|is|are) guaranteed",
    r"\b(?:i|we)(?: will|'ll| shall| am going to| are going to|'m going to|'re going to|'ve| have|) "
    r"(?:refund|reimburse|compensate|credit|waive|cancel)(?:ed)?\b",
    r"\byou(?: will|'ll| shall| are going to|'re going to) (?:receive|get|be (?:refunded|reimbursed|paid|credited))\b",
    r"\byou (?:have|'ve) my word\b",
    r"\bfree of charge\b",
    r"\b(?:ich|wir) (?:verspreche|versprechen|garantiere|garantieren|versichere|versichern)\b",
    r"\b(?:garantiert|zugesichert|kostenlos|kostenfrei)\b",
    r"\b(?:ich|wir) (?:erstatte|erstatten|werde|werden) (?:ihnen|dir|das|den|die)\b",
    r"\bsie (?:erhalten|bekommen)\b",
)
_PROMISE = re.compile("|".join(f"(?:{each})" for each in (r"\b" + _PHRASES[0], *_PHRASES[1:])))


def promises_in(plain: str) -> list[str]:
    """Returns the phrases of a plain text that promise something, each once, in order."""
    return list(dict.fromkeys(found[0] for found in _PROMISE.finditer(plain)))
