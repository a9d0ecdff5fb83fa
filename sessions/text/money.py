"""Amounts of money as people read and type them. An amount is {"minor": 430000, "currency": "USD"}, never a float."""

from __future__ import annotations

import re
from typing import Any, TypeGuard

from agentstate.engine.speech.amounts import EXPONENTS

SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
LARGEST = 10**13  # minor units
_TYPED = re.compile(r"(?P<whole>\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.(?P<part>\d{1,3}))?", re.ASCII)


class NotAnAmount(ValueError):
    """What was typed is no amount of this currency; the text says what is wanted."""


def is_money(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether `value` is an amount of money in our form."""
    return isinstance(value, dict) and value.keys() == {"minor", "currency"} and type(value["minor"]) is int


def symbol(currency: str) -> str:
    """The sign before the figures, else the currency's code."""
    return SYMBOLS.get(currency, currency)


def figures(amount: dict[str, Any]) -> str:
    """The figures alone, as they stand in a field: 4,300.00."""
    after = places(str(amount["currency"]))
    whole, part = divmod(abs(amount["minor"]), 10**after)
    sign = "-" if amount["minor"] < 0 else ""
    return f"{sign}{whole:,}" + (f".{part:0{after}d}" if after else "")


def show(amount: dict[str, Any]) -> str:
    """The amount with its currency and always with cents: $4,300.00."""
    mark = symbol(str(amount["currency"]))
    text = figures(amount)
    sign = "-" if text.startswith("-") else ""
    return f"{sign}{mark}{'' if len(mark) == 1 else ' '}{text.lstrip('-')}"


def parse(text: str, currency: str) -> dict[str, Any]:
    """What a person typed, as an amount. Raises NotAnAmount."""
    after = places(currency)
    found = _TYPED.fullmatch(text.strip().removeprefix(symbol(currency)).strip())
    if found is None:
        raise NotAnAmount(f"an amount like {figures(example(currency))}")
    part = found["part"] or ""
    if len(part) > after:
        raise NotAnAmount(f"at most {after} places after the point" if after else "no places after the point")
    minor = int(found["whole"].replace(",", "")) * 10**after + int(part.ljust(after, "0") or 0)
    if minor > LARGEST:
        raise NotAnAmount("a smaller amount")
    return {"minor": minor, "currency": currency}


def example(currency: str) -> dict[str, Any]:
    """An amount that shows how one is typed."""
    return {"minor": 4300 * 10 ** places(currency), "currency": currency}


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What a change amounts to, in words: "$500.00 less"."""
    minor = after["minor"] - before["minor"]
    if before["currency"] != after["currency"] or not minor:
        return ""
    return f"{show({'minor': abs(minor), 'currency': before['currency']})} {'more' if minor > 0 else 'less'}"


def places(currency: str) -> int:
    """How many figures stand after the point."""
    return EXPONENTS.get(currency, 2)
