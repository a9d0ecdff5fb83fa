"""Numbers that English words make: "forty-three hundred", "one thousand two hundred"."""

from __future__ import annotations

_UNITS = dict(zip(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], range(1, 10), strict=True))
_TEENS = dict(
    zip(
        [
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ],
        range(10, 20),
        strict=True,
    )
)
TENS = dict(
    zip(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
        range(20, 100, 10),
        strict=True,
    )
)
_ZERO = {"zero": 0, "oh": 0, "o": 0}
DIGITS = _ZERO | _UNITS
SMALL = DIGITS | _TEENS | TENS
SCALES = {"hundred": 100, "thousand": 1000, "grand": 1000, "k": 1000, "million": 1_000_000}


def number_of(words: list[str]) -> int | None:
    """The number that `words` make, None where they do not make one ("forty three fifty")."""
    total = current = 0
    room = 100  # what may still be added below: after "forty" only units, after "three" nothing
    for word in words:
        if word == "and":
            continue
        if word == "a":
            current, room = 1, 0
        elif word == "hundred":
            current, room = (current or 1) * 100, 100
        elif word in SCALES:
            total, current, room = total + (current or 1) * SCALES[word], 0, 100
        else:
            value = SMALL[word]
            if value >= room or (room == 10 and value == 0):
                return None
            current += value
            room = 10 if word in TENS else 0
    return total + current or None
