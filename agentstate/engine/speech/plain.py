"""Text without tricks of writing: invisible characters, other forms of letters and digits, letters of another script
that look the same.
"""

from __future__ import annotations

import re
import unicodedata

_FILLERS = frozenset("\u115f\u1160\u3164\u17b4\u17b5\u2800")  # drawn as nothing, and no format characters
_DECORATIONS = (  # marks that decorate a letter and that no language needs once composed
    (0x0300, 0x036F),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
    (0xE0100, 0xE01EF),
)
_SAME = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u02bc\u2032\u00b4", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u3002\u06d4\u066b", "."),
        "\u066c": ",",
    }
)
_LIKE = {  # a Latin letter: letters of Cyrillic, Greek and phonetic script that are drawn the same
    "A": "\u0410\u0391",
    "B": "\u0412\u0392",
    "C": "\u0421",
    "E": "\u0415\u0395",
    "G": "\u050c",
    "H": "\u041d\u0397",
    "I": "\u0406\u0399",
    "J": "\u0408",
    "K": "\u041a\u039a",
    "M": "\u041c\u039c",
    "N": "\u039d",
    "O": "\u041e\u039f",
    "P": "\u0420\u03a1",
    "Q": "\u051a",
    "S": "\u0405",
    "T": "\u0422\u03a4",
    "W": "\u051c",
    "X": "\u0425\u03a7",
    "Y": "\u0423\u03a5",
    "Z": "\u0396",
    "a": "\u0430\u03b1",
    "b": "\u0432",
    "c": "\u0441",
    "d": "\u0501",
    "e": "\u0435\u03b5",
    "g": "\u0261",
    "h": "\u04bb\u043d",
    "i": "\u0456\u03b9\u0131",
    "j": "\u0458",
    "k": "\u043a\u03ba",
    "l": "\u04cf",
    "m": "\u043c",
    "n": "\u03b7",
    "o": "\u043e\u03bf",
    "p": "\u0440\u03c1",
    "q": "\u051b",
    "s": "\u0455",
    "t": "\u0442\u03c4",
    "u": "\u03c5",
    "v": "\u03bd",
    "w": "\u051d\u03c9",
    "x": "\u0445\u03c7",
    "y": "\u0443",
}
_LOOKALIKES = str.maketrans({other: letter for letter, others in _LIKE.items() for other in others})
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z]")


def cleaned(text: str) -> str:
    """Returns the text in compatibility form: no invisible character, decimal digits as 0 to 9, single spaces."""
    if not text.isascii():
        text = "".join(map(_written, unicodedata.normalize("NFKC", text).translate(_SAME)))
    elif not text.isprintable():
        text = "".join(map(_written, text))
    return " ".join(text.split())


def _written(character: str) -> str:
    """Returns how a character of a text in compatibility form is written; empty: it cannot be seen."""
    if character.isascii() and character.isprintable():
        return character
    kind = unicodedata.category(character)
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if character.isspace():
        return " "
    hidden = kind in ("Cf", "Cc", "Cs") or character in _FILLERS or (kind[0] == "M" and _is_decoration(character))
    return "" if hidden else character


def _is_decoration(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _DECORATIONS)


def without_lookalikes(clean: str) -> str:
    """Returns the text with the letters of other scripts that look like Latin ones as those, in words that also have
    Latin letters. A word of one script is a word of its language.
    """
    return clean if clean.isascii() else _WORD.sub(_latin, clean)


def _latin(word: re.Match[str]) -> str:
    text = word[0]
    return text.translate(_LOOKALIKES) if not text.isascii() and _LATIN.search(text) else text


def plain_of(clean: str) -> str:
    """Returns cleaned text without upper case, as words and phrases are looked for in it."""
    return clean.casefold()
