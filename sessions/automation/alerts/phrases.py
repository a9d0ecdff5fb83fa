"""Words among words: whether a message holds the phrases of a rule. Case and accents do not matter; a phrase is heard
as whole words only, in their order, whatever stands between them that is no letter or digit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

Match = Literal["any", "all", "exact"]
LONGEST = 16_384  # characters of a message that are looked at
_WORD = re.compile(r"\w+")


def tokens(text: str) -> list[str]:
    """The words of a text, folded: without case, without accents."""
    apart = unicodedata.normalize("NFKD", text[:LONGEST].casefold())
    plain = "".join(char for char in apart if not unicodedata.combining(char))
    return _WORD.findall(plain)


@lru_cache(maxsize=4096)
def folded(phrase: str) -> tuple[str, ...]:
    """The words of a phrase."""
    return tuple(tokens(phrase))


def heard(text: str, phrases: Sequence[str], match: Match) -> bool:
    """Whether `text` holds one of the phrases (any), each of them (all), or is one of them and nothing else (exact)."""
    said = tokens(text)
    wanted = [folded(phrase) for phrase in phrases]
    if match == "exact":
        return any(tuple(said) == each for each in wanted)
    spaced = f" {' '.join(said)} "
    found = (f" {' '.join(each)} " in spaced for each in wanted)
    return all(found) if match == "all" else any(found)
