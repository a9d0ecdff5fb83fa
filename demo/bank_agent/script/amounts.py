"""Amounts of money as the scripted agent hears them, in minor units of dollars.

Pure. What is said is read by `sessions.text.spoken_amounts`. One thing is got wrong on purpose, see MISHEARD.
"""

from __future__ import annotations

from agentstate.engine.speech.numbers import DIGITS, SMALL, TENS, number_of
from sessions.text.spoken_amounts import pieces_of, spoken_amounts

# On a poor line "forty-three hundred" reaches the agent as "forty-eight hundred": after a round ten, "three
# hundred" is taken for "eight hundred". In words only: figures are read as they stand. A person finds it out
# where the agent reads the amount back; the supervisor finds it in the customer's own words.
MISHEARD = {"three": "eight"}


def amounts_in(text: str, *, asked: bool = False, expected: int | None = None) -> list[int]:
    """Every amount in `text`, in order, in minor units. `asked`: the agent had asked for an amount. An `expected` one,
    which was just read back, is not misheard.
    """

    def read(words: list[str]) -> int | None:
        value = number_of(words)
        return value if value is not None and 100 * value == expected else number_of(_as_heard(words))

    heard = spoken_amounts(text, asked=asked, read=read)
    return [each.hundredths for each in heard if each.currency in ("", "USD")]


def _as_heard(words: list[str]) -> list[str]:
    heard = list(words)
    for index in range(1, len(words) - 1):
        if words[index - 1] in TENS and words[index + 1] == "hundred":
            heard[index] = MISHEARD.get(words[index], words[index])
    return heard


def spoken_digits(text: str) -> str:
    """The digits that words name one by one: "twenty-two oh seven" is 2207, "ninety-nine hundred" 9900."""
    said = ""
    previous_tens = False
    for piece in pieces_of(text):
        if piece.isdigit():
            said, previous_tens = said + piece, False
        elif DIGITS.get(piece) and previous_tens:
            said, previous_tens = said[:-1] + str(DIGITS[piece]), False
        elif piece in SMALL:
            said, previous_tens = said + str(SMALL[piece]), piece in TENS
        elif piece == "hundred" and said:
            said, previous_tens = said + "00", False
        elif piece not in (",", "and"):
            break
    return said


def money(minor: int) -> str:
    """`430000` as "$4,300.00"."""
    return f"${minor // 100:,}.{minor % 100:02d}"
