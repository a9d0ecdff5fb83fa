"""Money in schemas: `"x-money": true` says that a value is an amount, `{"minor": 430000, "currency": "USD"}`.

Whole minor units and a currency, nothing else: 15.0 is a whole number for JSON Schema, and no amount of cents here.
"""

from __future__ import annotations

import re
from typing import Any

WORD = "x-money"
WANTED = 'want {"minor": whole cents, "currency": "USD"}'
LARGEST = 2**53 - 1
_CURRENCY = re.compile(r"[A-Z]{3}")


def is_amount(value: object) -> bool:
    """Whether `value` is an amount of money."""
    return (
        isinstance(value, dict)
        and value.keys() == {"minor", "currency"}
        and type(value["minor"]) is int
        and abs(value["minor"]) <= LARGEST
        and isinstance(value["currency"], str)
        and _CURRENCY.fullmatch(value["currency"]) is not None
    )


class Money:
    """The rule behind the word, as jsonschema-rs wants it. `false` asks for nothing."""

    def __init__(self, parent: dict[str, Any], value: Any, path: list[str | int]) -> None:
        self._asked = value is True

    def validate(self, value: Any) -> None:
        """Raises ValueError unless `value` is an amount."""
        if self._asked and not is_amount(value):
            raise ValueError(WANTED)
