"""Amounts of money in what people say, exactly as said: "$4,300.00", "4300", "forty-three hundred", "four, three,
zero, zero".

Pure. Reads an amount only where it is plain: a number that could be a time, a count, a date or an account is left
alone, and words that do not make one number make none. Nothing is guessed from the conversation around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from agentstate.engine.speech.numbers import DIGITS, SCALES, SMALL, number_of

_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_MONEY = {
    **dict.fromkeys(("dollar", "dollars", "bucks", "usd"), "USD"),
    **dict.fromkeys(("euro", "euros", "eur"), "EUR"),
    **dict.fromkeys(("pound", "pounds", "quid", "gbp"), "GBP"),
    **dict.fromkeys(("yen", "jpy"), "JPY"),
}
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
_BEFORE_OTHER = {"at", "until", "till", "since", "number", "ending", "line", "page", "least", "account"}
SMALLEST_BARE = 20  # below this, a number without "dollars" is money only where money was asked for
MAX_DIGITS = 7  # of an amount that is said digit by digit
LARGEST = 10**13  # hundredths; a larger number is no amount of money

# Figures that are no amount: references such as C-1042, times, dates, shares.
_OTHER = re.compile(
    r"\b(?!(?:usd|eur|gbp|jpy)\d)[a-z]+-?\d\w*|\b\d{1,2}:\d{2}\b|\b\d{4}-\d{2}-\d{2}\b|\b\d+(?:/\d+)+\b|\b\d+(?:\.\d+)?\s?%",
    re.IGNORECASE,
)
_PIECE = re.compile(r"[$€£¥]?\d[\d,.]*\d|[$€£¥]?\d|[a-z']+|[$€£¥.,;:!?]", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:[,.]\d{3})+(?:[.,]\d{1,2})?")
_PLAIN = re.compile(r"\d{1,7}(?:\.\d{1,2})?")


class Spoken(NamedTuple):
    """An amount as it was said: in hundredths of the unit that was named, and its currency if that was named."""

    hundredths: int
    currency: str = ""


Reader = Callable[[list[str]], int | None]


def pieces_of(text: str) -> list[str]:
    """The words, numbers and marks of `text`, lower-case."""
    return [piece.lower() for piece in _PIECE.findall(text.replace("-", " "))]


def spoken_amounts(text: str, *, asked: bool = False, read: Reader | None = None) -> list[Spoken]:
    """Every amount in `text`, in order. `asked`: an amount had been asked for, so that a small number is one. `read`
    gives the number that words make, by default `number_of`.
    """
    pieces = pieces_of(_OTHER.sub(" ; ", text))
    found: list[Spoken] = []
    index, touching, alone = 0, -1, False
    while index < len(pieces):
        number = _digits_at(pieces, index) or _number_at(pieces, index, read or number_of)
        if number is None:
            index += 1
            continue
        value, end, plain = number
        if plain and not _negated(pieces, index) and _is_money(pieces, index, end, value, asked):
            currency = _currency(pieces, index, end)
            value, end = _with_cents(pieces, end, value)
            if index == touching:  # "1 thousand 500": one number or two
                if alone:
                    found.pop()
                alone = False
            elif alone := value < LARGEST:
                found.append(Spoken(value, currency))
            touching = end
        index = end
    return found


def _currency(pieces: list[str], start: int, end: int) -> str:
    before = pieces[start - 1] if start else ""
    after = pieces[end] if end < len(pieces) else ""
    return _SIGNS.get(pieces[start][0]) or _SIGNS.get(before) or _MONEY.get(after, "")


def _figure(piece: str) -> int | None:
    """`4,300.00` in hundredths, None when it is not one plain figure."""
    digits = piece.lstrip("".join(_SIGNS))
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
    """Digits said one by one, three to seven: "four, three, zero, zero". More are no amount but a number."""
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
    if not 3 <= len(said) <= MAX_DIGITS or said.startswith("0") or following in SCALES or following in SMALL:
        return None
    return 100 * int(said), index, True


def _number_at(pieces: list[str], start: int, read: Reader) -> tuple[int, int, bool] | None:
    """(hundredths, index after it, whether it is one plain number) for the number at `start`."""
    figure = _figure(pieces[start]) if pieces[start][-1].isdigit() else None
    if figure is not None:
        end = start + 1
        while end < len(pieces) and pieces[end] in SCALES:
            figure *= SCALES[pieces[end]]
            end += 1
        return figure, end, True
    article = pieces[start] == "a" and start + 1 < len(pieces) and pieces[start + 1] in SCALES
    if pieces[start] not in SMALL and not article:
        return None
    words = list(_number_words(pieces, start))
    value = read(words)
    return 100 * (value or 0), start + len(words), value is not None


def _number_words(pieces: list[str], start: int) -> Iterator[str]:
    for index in range(start, len(pieces)):
        piece = pieces[index]
        joins = piece == "and" and index > start and index + 1 < len(pieces) and pieces[index + 1] in SMALL
        joins = joins and pieces[index - 1] in SCALES
        if not (piece in SMALL or piece in SCALES or joins or (piece == "a" and index == start)):
            return
        yield piece


def _negated(pieces: list[str], start: int) -> bool:
    """ "not 4,800" says what it is not."""
    return start > 0 and pieces[start - 1] == "not"


def _is_money(pieces: list[str], start: int, end: int, value: int, asked: bool) -> bool:
    before = pieces[start - 1] if start else ""
    after = pieces[end] if end < len(pieces) else ""
    if value <= 0:
        return False
    if _currency(pieces, start, end):
        return True
    if after in _COUNTED or before in _BEFORE_OTHER:
        return False
    return asked or value >= 100 * SMALLEST_BARE


def _with_cents(pieces: list[str], end: int, value: int) -> tuple[int, int]:
    """ "... dollars and fifty cents" added, with the index after it."""
    index = end
    while index < len(pieces) and (pieces[index] in _MONEY or pieces[index] == "and"):
        index += 1
    following = _number_at(pieces, index, number_of) if index < len(pieces) and index > end else None
    if following and following[2] and following[0] < 10_000 and pieces[following[1] : following[1] + 1] == ["cents"]:
        return value + following[0] // 100, following[1] + 1
    return value, end
