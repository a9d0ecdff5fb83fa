"""Whether a customer's words ask for a person: phrases as data, heard as whole words.

A phrase stands for itself in any case and with any spaces between; `*` in it stands for up to three words. Where the
words just before it say no ("I do not need to", "no need for"), it is not heard.
"""

from __future__ import annotations

import re
from functools import lru_cache

ASK_FOR_PERSON = "ask_for_person"  # the tool by which an agent says that its customer asks for a person
PHRASES = (
    "speak to * human",
    "speak with * human",
    "talk to * human",
    "talk with * human",
    "speak to * person",
    "speak with * person",
    "talk to * person",
    "talk with * person",
    "speak to * somebody real",
    "talk to somebody real",
    "speak to someone real",
    "talk to someone real",
    "a real person",
    "a human being",
    "speak to * colleague",
    "speak to * supervisor",
    "talk to * supervisor",
    "speak to * manager",
    "talk to * manager",
    "speak to * representative",
    "talk to * representative",
    "speak to * operator",
    "get me * human",
    "get me * person",
    "human please",
    "representative please",
    "operator please",
)
MOST_BETWEEN = 3  # words that `*` may stand for
_NO = re.compile(
    r"(?:\bno need (?:to|for)|\b(?:do not|don't|dont|didn't|did not|without|never|rather not)"
    r"(?: (?:want|need|have|wish))?(?: to)?)$"
)
_SPACES = re.compile(r"[\s,.!?;:\"“”()]+")


def phrase_heard(text: str, phrases: tuple[str, ...] = PHRASES) -> str:
    """The first of `phrases` that `text` holds and does not deny; empty: none."""
    words = f" {_SPACES.sub(' ', text.lower().replace('’', chr(39))).strip()} "
    for phrase in phrases:
        for found in _pattern(phrase).finditer(words):
            if not _NO.search(words[: found.start()].rstrip()):
                return phrase
    return ""


@lru_cache(maxsize=512)
def _pattern(phrase: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in phrase.lower().split()]
    made = ""
    for word in words:
        made += rf"(?: \S+){{0,{MOST_BETWEEN}}}?" if word == r"\*" else f" {word}"
    return re.compile(f"{made}(?= )")
