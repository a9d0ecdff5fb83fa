"""Money: `"x-money": true` says that a value is an amount, `{"minor": 430000, "currency": "USD"}`.

Whole minor units and a currency, nothing else: 15.0 is a whole number for JSON Schema, and no amount of cents here.
"""

from __future__ import annotations

import re
from typing import Any

WORD = "x-money"
WANTED = 'want {"minor": whole cents, "currency": "USD"}'
LARGEST = 2**53 - 1
_CURRENCY = re.compile(r"[A-Z]{3}")
# ISO 4217, list one of 2026 (the codes of metals, units of account and tests left out).
_CODES = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF "
    "CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL "
    "HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD "
    "MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG "
    "QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD "
    "TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG"
)
CURRENCIES = frozenset(_CODES.split())


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


def as_amount(value: object) -> tuple[str, int] | None:
    """Returns the currency, in upper case and trimmed, and the minor units of an amount; None where `value` is not an
    amount in a known currency.
    """
    if not isinstance(value, dict) or not isinstance(value.get("currency"), str):
        return None
    currency = value["currency"].strip().upper()
    if currency not in CURRENCIES or not is_amount({**value, "currency": currency}):
        return None
    return currency, value["minor"]


class Money:
    """The rule behind the word, as jsonschema-rs wants it. `false` asks for nothing."""

    def __init__(self, parent: dict[str, Any], value: Any, path: list[str | int]) -> None:
        self._asked = value is True

    def validate(self, value: Any) -> None:
        """Raises ValueError unless `value` is an amount."""
        if self._asked and not is_amount(value):
            raise ValueError(WANTED)
