"""Amounts of money in what people say: "$4,300.00", "4300", "forty-three hundred", "four, three, zero,
zero".

Pure. Says what was meant only when it is plain: a number that could be a time, a count or an account is
left alone, and words that do not make one number make none, so that the agent asks again. All amounts are
minor units.

One thing it gets wrong on purpose, see MISHEARD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_TENS = dict(
    zip(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
        range(20, 100, 10),
        strict=True,
    )
)
_ZERO = {"zero": 0, "oh": 0, "o": 0}
DIGITS = _ZERO | _UNITS
SMALL = DIGITS | _TEENS | _TENS
_SCALES = {"hundred": 100, "thousand": 1000, "grand": 1000, "k": 1000, "million": 1_000_000}
_MONEY = {"dollar", "dollars", "bucks", "usd"}
# A number before one of these counts something else than money; after one of those it is a time or a place.
_COUNTED = {
    "minute",
    "minutes",
    "hour",
    "hours",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "times",
    "account",
    "accounts",
    "percent",
    "am",
    "pm",
    "o'clock",
    "people",
    "things",
    "questions",
    "days'",
    "st",
    "nd",
    "rd",
    "th",
}
_BEFORE_OTHER = {"at", "until", "till", "since", "number", "ending", "line", "page", "least"}
SMALLEST_BARE = 20  # below this, a number without "dollars" is money only where money was asked for
LARGEST = 10**13  # minor units; beyond it nobody means money

# On a poor line "forty-three hundred" reaches the agent as "forty-eight hundred": after a round ten, "three
# hundred" is taken for "eight hundred". In words only: figures are read as they stand. A person finds it out
# where the agent reads the amount back; the supervisor finds it in the customer's own words.
MISHEARD = {"three": "eight"}

_PIECE = re.compile(r"\$?\d[\d,.]*\d|\$?\d|[a-z']+|[$.,;:!?]", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:[,.]\d{3})+(?:[.,]\d{1,2})?")
_PLAIN = re.compile(r"\d{1,7}(?:\.\d{1,2})?")


def amounts_in(text: str, *, asked: bool = False, expected: int | None = None) -> list[int]:
    """Every amount in `text`, in order, in minor units. `asked`: the agent had asked for an amount. An `expected` one,
    which was just read back, is not misheard.
    """
    pieces = [piece.lower() for piece in _PIECE.findall(text.replace("-", " "))]
    found: list[int] = []
    index, touching = 0, -1
    while index < len(pieces):
        number = _digits_at(pieces, index) or _number_at(pieces, index, expected)
        if number is None:
            index += 1
            continue
        minor, end, plain = number
        if plain and not _negated(pieces, index) and _is_money(pieces, index, end, minor, asked):
            minor, end = _with_cents(pieces, end, minor)
            if index == touching:  # "1 thousand 500": two numbers or one, nobody can tell
                found.pop()
            elif minor < LARGEST:
                found.append(minor)
                touching = end
        index = end
    return found


def _figure(piece: str) -> int | None:
    """`4,300.00` in minor units, None when it is not one plain figure."""
    digits = piece.lstrip("$")
    if _GROUPED.fullmatch(digits):
        whole, cents = digits, ""
        if re.search(r"[.,]\d{1,2}$", digits):
            whole, cents = re.split(r"[.,](?=\d{1,2}$)", digits)
        return 100 * int(re.sub(r"\D", "", whole)) + int(cents.ljust(2, "0") or 0)
    if _PLAIN.fullmatch(digits):
        whole, _, cents = digits.partition(".")
        return 100 * int(whole) + int(cents.ljust(2, "0"))
    return None


def _digits_at(pieces: list[str], start: int) -> tuple[int, int, bool] | None:
    """Digits said one by one, at least three: "four, three, zero, zero"."""
    said, index = "", start
    while index < len(pieces):
        piece = pieces[index]
        if piece in DIGITS:
            said += str(DIGITS[piece])
        elif len(piece) == 1 and piece.isdigit():
            said += piece
        elif not (piece == "," and said):
            break
        index += 1
    following = pieces[index] if index < len(pieces) else ""
    if len(said) < 3 or said.startswith("0") or following in _SCALES or following in SMALL:
        return None
    return 100 * int(said), index, True


def _number_at(pieces: list[str], start: int, expected: int | None = None) -> tuple[int, int, bool] | None:
    """(minor units, index after it, whether it is one plain number) for the number at `start`."""
    figure = _figure(pieces[start]) if pieces[start][-1].isdigit() else None
    if figure is not None:
        end = start + 1
        while end < len(pieces) and pieces[end] in _SCALES:
            figure *= _SCALES[pieces[end]]
            end += 1
        return figure, end, True
    article = pieces[start] == "a" and start + 1 < len(pieces) and pieces[start + 1] in _SCALES
    if pieces[start] not in SMALL and not article:
        return None
    words = list(_number_words(pieces, start))
    value = _value(words)
    if value is None or 100 * value != expected:
        value = _value(_as_heard(words))
    return 100 * (value or 0), start + len(words), value is not None


def _number_words(pieces: list[str], start: int) -> Iterator[str]:
    for index in range(start, len(pieces)):
        piece = pieces[index]
        joins = piece == "and" and index > start and index + 1 < len(pieces) and pieces[index + 1] in SMALL
        joins = joins and pieces[index - 1] in _SCALES
        if not (piece in SMALL or piece in _SCALES or joins or (piece == "a" and index == start)):
            return
        yield piece


def _as_heard(words: list[str]) -> list[str]:
    heard = list(words)
    for index in range(1, len(words) - 1):
        if words[index - 1] in _TENS and words[index + 1] == "hundred":
            heard[index] = MISHEARD.get(words[index], words[index])
    return heard


def _value(words: list[str]) -> int | None:
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
        elif word in _SCALES:
            total, current, room = total + (current or 1) * _SCALES[word], 0, 100
        else:
            value = SMALL[word]
            if value >= room or (room == 10 and value == 0):
                return None
            current += value
            room = 10 if word in _TENS else 0
    return total + current or None


def _negated(pieces: list[str], start: int) -> bool:
    """ "not 4,800" says what it is not."""
    return start > 0 and pieces[start - 1] == "not"


def _is_money(pieces: list[str], start: int, end: int, minor: int, asked: bool) -> bool:
    before = pieces[start - 1] if start else ""
    after = pieces[end] if end < len(pieces) else ""
    if minor <= 0:
        return False
    if pieces[start].startswith("$") or before == "$" or after in _MONEY:
        return True
    if after in _COUNTED or before in _BEFORE_OTHER:
        return False
    return asked or minor >= 100 * SMALLEST_BARE


def _with_cents(pieces: list[str], end: int, minor: int) -> tuple[int, int]:
    """ "... dollars and fifty cents" added, with the index after it."""
    index = end
    while index < len(pieces) and (pieces[index] in _MONEY or pieces[index] == "and"):
        index += 1
    following = _number_at(pieces, index) if index < len(pieces) and index > end else None
    if following and following[2] and following[0] < 10_000 and pieces[following[1] : following[1] + 1] == ["cents"]:
        return minor + following[0] // 100, following[1] + 1
    return minor, end


def spoken_digits(text: str) -> str:
    """The digits that words name one by one: "twenty-two oh seven" is 2207, "ninety-nine hundred" 9900."""
    said = ""
    previous_tens = False
    for piece in (piece.lower() for piece in _PIECE.findall(text.replace("-", " "))):
        if piece.isdigit():
            said, previous_tens = said + piece, False
        elif piece in _UNITS and previous_tens:
            said, previous_tens = said[:-1] + str(_UNITS[piece]), False
        elif piece in SMALL:
            said, previous_tens = said + str(SMALL[piece]), piece in _TENS
        elif piece == "hundred" and said:
            said, previous_tens = said + "00", False
        elif piece not in (",", "and"):
            break
    return said


def money(minor: int) -> str:
    """`430000` as "$4,300.00"."""
    return f"${minor // 100:,}.{minor % 100:02d}"
