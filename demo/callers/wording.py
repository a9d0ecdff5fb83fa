"""How callers say amounts and accounts."""

from __future__ import annotations

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def words(number: int) -> str:
    """A whole number below 100,000 in words: 4310 is "four thousand three hundred and ten"."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        rest = f"-{_ONES[number % 10]}" if number % 10 else ""
        return _TENS[number // 10 - 2] + rest
    if number < 1000:
        rest = f" and {words(number % 100)}" if number % 100 else ""
        return f"{_ONES[number // 100]} hundred{rest}"
    rest = f" {words(number % 1000)}" if number % 1000 else ""
    return f"{words(number // 1000)} thousand{rest}"


def in_hundreds(number: int) -> str:
    """As many say it: 4300 is "forty-three hundred". `number` is a multiple of 100 from 1,100 to 9,900."""
    return f"{words(number // 100)} hundred"


def figures(minor: int) -> str:
    """Minor units as people type them: "$4,300", "$4,300.50"."""
    cents = f".{minor % 100:02d}" if minor % 100 else ""
    return f"${minor // 100:,}{cents}"


def digits(number: int) -> str:
    """Digit by digit: 4300 is "four, three, zero, zero"."""
    return ", ".join(_ONES[int(digit)] for digit in str(number))
