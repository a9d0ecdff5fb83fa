"""Amounts of money in a text, in the ways that several countries write them: "$1,200.50", "1.200,50 EUR", "1'200.50
CHF", "1,5 Mio. Euro", "twelve hundred dollars".

An amount is a number that names its currency, before or after it. A bare number is none: it may be a date, a count or
an account. Where a number can be read in two ways, the larger one is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal
from typing import Any

from agentstate.engine.speech.numbers import SCALES, SMALL, number_of

EXPONENTS = {"JPY": 0, "KRW": 0, "BHD": 3, "KWD": 3}  # ISO 4217; every other currency here has two places
LARGEST = 10**15  # minor units; rules read 64 bits, and a larger number is read as this
_LISTED = (
    "AED AUD BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW KWD MXN MYR NOK NZD PEN "
    "PHP PLN QAR RON RUB SAR SEK SGD THB TRY TWD UAH USD UYU VND ZAR"
)
_CODES = frozenset(_LISTED.split())
_SIGNS = {
    **dict(
        zip(
            "$€£¥₹₽₩₺₴₪₫฿₱",
            ["USD", "EUR", "GBP", "JPY", "INR", "RUB", "KRW", "TRY", "UAH", "ILS", "VND", "THB", "PHP"],
            strict=True,
        )
    ),
    **dict.fromkeys(("us$", "u.s.$"), "USD"),
    **dict.fromkeys(("c$", "ca$"), "CAD"),
    **dict.fromkeys(("a$", "au$"), "AUD"),
    "nz$": "NZD",
    "hk$": "HKD",
    "s$": "SGD",
    "r$": "BRL",
    "mx$": "MXN",
}
_NAMED = {
    **dict.fromkeys(("dollar", "dollars", "buck", "bucks", "dólar", "dólares", "dollari", "usd"), "USD"),
    **dict.fromkeys(("euro", "euros", "eur"), "EUR"),
    **dict.fromkeys(("pound", "pounds", "quid", "sterling", "pfund", "gbp"), "GBP"),
    **dict.fromkeys(("yen", "jpy"), "JPY"),
    **dict.fromkeys(("yuan", "renminbi", "rmb", "cny"), "CNY"),
    **dict.fromkeys(("franc", "francs", "franken", "sfr", "chf"), "CHF"),
    **dict.fromkeys(("rupee", "rupees", "inr"), "INR"),
    **dict.fromkeys(("peso", "pesos", "mxn"), "MXN"),
    **dict.fromkeys(("krona", "kronor", "sek"), "SEK"),
    **dict.fromkeys(("zloty", "złoty", "złotych", "zł", "pln"), "PLN"),
    **dict.fromkeys(("rouble", "roubles", "ruble", "rubles"), "RUB"),
    "reais": "BRL",
    "lira": "TRY",
}
_ADJECTIVES = {
    **dict.fromkeys(("us", "u.s.", "american"), "USD"),
    "canadian": "CAD",
    "australian": "AUD",
    "singapore": "SGD",
    "swiss": "CHF",
    "british": "GBP",
    "hong kong": "HKD",
    "new zealand": "NZD",
    "mexican": "MXN",
}
_CENTS = ("cent", "cents", "pence", "penny", "¢", "rappen")
_BY_TOKEN = {**_SIGNS, **_NAMED, **{code.lower(): code for code in _CODES}}
_THOUSANDS = ("k", "thousand", "grand", "tausend", "mille", "mil", "tsd", "tsd.")
_MILLIONS = ("million", "millions", "millionen", "millones", "mio", "mio.", "mln", "mn", "m")
_BILLIONS = ("billion", "billions", "milliarde", "milliarden", "mrd", "mrd.", "bn")
_FACTORS = {
    "hundred": 100,
    **dict.fromkeys(_THOUSANDS, 1000),
    **dict.fromkeys(_MILLIONS, 10**6),
    **dict.fromkeys(_BILLIONS, 10**9),
}


def _either(tokens: Any) -> str:
    return "|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True))


_CODE = "|".join(_CODES)  # in capitals, or one that is listed as a word: "50 try" is no amount
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"(?<!\w)(?:[^\W\d_]{1,8}\$?)?\d+(?:[.,']\d+| \d{3}(?!\d))*")
_BETWEEN = r"[ \-(\[*_]{0,4}"  # a number and its currency: "**500** (USD)"
_AFTER = re.compile(
    rf"[ -]?(?:(?P<scale>(?i:{_either(_FACTORS)}))(?![^\W\d_]))?(?P<more>[ -](?:(?i:{_either(_FACTORS)}))(?![^\W\d_]))?"
    rf"{_BETWEEN}(?:(?:of|de|in) )?(?:(?P<of>(?i:{_either(_ADJECTIVES)})) )?"
    rf"(?:(?P<word>(?i:{_either((*_NAMED, *_CENTS))})|{_CODE})(?![^\W\d_])|(?P<sign>{_either(_SIGNS)}))?"
)
_BEFORE = re.compile(
    rf"(?:(?P<sign>(?i:{_either(_SIGNS)}))|(?<![^\W\d_])(?P<word>(?i:{_either(_NAMED)})|{_CODE}))[ :=)\]*_+\-]{{0,4}}\Z"
)
_FIGURES = re.compile(r"\d.*", re.DOTALL)
_BACK = 16  # characters before a number in which its currency stands
_BESIDE = (*_ADJECTIVES, "u", "s")  # between the number and its currency: "u.s. dollars"
_UNITS = frozenset((*_NAMED, *_CENTS))
_TOKENS = re.compile(r"[^\W\d_]+|\d+")


def amounts_in(clean: str) -> list[dict[str, Any]] | None:
    """Returns the amounts in cleaned text, each once, in order; None where one cannot be read."""
    found: dict[tuple[int, str], None] = {}
    for number in _NUMBER.finditer(clean) if _DIGIT.search(clean) else ():
        found |= dict.fromkeys(_at(clean, number))
    in_words = _in_words(clean)
    if in_words is None:
        return None
    return [{"minor": minor, "currency": currency} for minor, currency in {**found, **dict.fromkeys(in_words)}]


def in_words(minor: int, currency: str) -> str:
    """Returns an amount with its currency: `1200.50 USD`; without one, in the smallest units that were named."""
    places = EXPONENTS.get(currency, 2)
    return f"{Decimal(minor).scaleb(-places):.{places}f} {currency}" if currency else f"{minor} cents"


def _at(clean: str, number: re.Match[str]) -> Iterator[tuple[int, str]]:
    """Yields the amount at a number: one for each currency that it names, behind it or before it."""
    figures = _FIGURES.search(number[0])
    assert figures is not None
    start = number.start() + figures.start()
    after = _AFTER.match(clean, number.end())
    assert after is not None  # every part of it may be absent
    before = _BEFORE.search(clean[max(0, start - _BACK) : start])
    value = _value(figures[0]) * _factor(after["scale"]) * _factor(after["more"])
    if behind := after["word"] or after["sign"]:
        yield _amount(value, behind, after["of"] or "")
    if before is not None:
        yield _amount(value, before["sign"] or before["word"], "")


def _amount(value: Decimal, token: str, of: str) -> tuple[int, str]:
    if token.lower() in _CENTS:
        return _minor(value, 0), ""
    currency = _ADJECTIVES.get(of.lower()) or _BY_TOKEN[token.lower()]
    return _minor(value, EXPONENTS.get(currency, 2)), currency


def _factor(scale: str | None) -> int:
    return _FACTORS[scale.strip(" -").lower()] if scale else 1


def _minor(value: Decimal, places: int) -> int:
    return min(int((value.scaleb(places)).to_integral_value(ROUND_CEILING)), LARGEST)


def _value(figures: str) -> Decimal:
    """Returns the number of these figures. One or two digits behind the last point or comma are its fraction; behind
    every other mark stands a group.
    """
    cut = max(figures.rfind("."), figures.rfind(","))
    if cut >= 0 and len(figures) - cut - 1 <= 2:
        return Decimal(f"{_digits(figures[:cut])}.{figures[cut + 1 :]}")
    return Decimal(_digits(figures))


def _digits(figures: str) -> str:
    return re.sub(r"\D", "", figures)[:40]


def _in_words(clean: str) -> list[tuple[int, str]] | None:
    """Returns the amounts whose numbers are written in English words; None where the words make no number."""
    tokens = _TOKENS.findall(clean.casefold())
    if _UNITS.isdisjoint(tokens):
        return []
    found: list[tuple[int, str]] = []
    run: list[str] = []
    of_figures = False  # "5 thousand" is read as figures
    for token in tokens:
        of_figures = token.isdigit() or (of_figures and token in SCALES)
        if not of_figures and (token in SMALL or token in SCALES or token in ("a", "and")):
            run.append(token)
        elif not (run and token in _BESIDE):
            number, run = _counted(run), []
            currency = _NAMED.get(token, "")
            if not number or not (currency or token in _CENTS):
                continue
            if (value := number_of(number)) is None:
                return None
            found.append((_minor(Decimal(value), EXPONENTS.get(currency, 2) if currency else 0), currency))
    return found


def _counted(run: list[str]) -> list[str]:
    """Returns the words of a run that can make a number: "a" only before what it counts, "and" only between others."""
    words = [each for at, each in enumerate(run) if each != "and" and (each != "a" or run[at + 1 : at + 2] in _COUNTED)]
    return words[words.index("a") :] if "a" in words[1:] else words


_COUNTED = [[scale] for scale in SCALES]
