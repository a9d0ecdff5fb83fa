"""A sentence as tokens: words, numbers, amounts and marks, in order, with their places. Linear, capped."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_CHARACTERS = 2_000  # of a message that are looked at; the rest is ignored
MOST_TOKENS = 240

# Every alternative consumes what no other can give back: there is nothing to try again.
_TOKEN = re.compile(
    r"(?P<money>[$€£]\ ?\d+(?:,\d{3})*(?:\.\d+)?[km]?\b)"
    r"|(?P<clock>\d{1,2}:\d{2}(?:\ ?[ap]\.?m\b)?|\d{1,2}\ ?[ap]\.?m\b)"
    r"|(?P<iso>\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<slash>\d{1,2}/\d{1,2}\b)"
    r"|(?P<number>\d+(?:,\d{3})*(?:\.\d+)?(?![\w-]))"
    r"|(?P<clitic>['’](?:s|re|ve|ll|d|m|t)\b)"
    r"|(?P<word>\#?\w+(?:-\w+)*)"
    r"|(?P<mark>[.,!?;:])",
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"[$€£]\ ?[\d.,]+|(\#?\w+(?:-\w+)*)")  # amounts have no group: they are no words


class Token(NamedTuple):
    """`text` is lower-case; `kind` is word, money, clock, iso, slash, number, clitic or mark."""

    text: str
    kind: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The first tokens of `text`."""
    found = []
    for match in _TOKEN.finditer(text[:MOST_CHARACTERS]):
        raw = match[0]
        found.append(Token(raw.lower().replace("’", "'"), match.lastgroup or "", match.start(), match.end()))
        if len(found) == MOST_TOKENS:
            break
    return found


def words_of(text: str) -> list[str]:
    """The words and numbers of a label or value, lower-case; a word with hyphens also in its parts."""
    found = [word for word in _WORD.findall(text.lower()[:MOST_CHARACTERS]) if word]
    return found + [part for word in found if "-" in word for part in word.split("-") if len(part) > 1]


def singular(word: str) -> str:
    """`accounts` as `account`, `cities` as `city`; a word that is no plural is left alone."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
