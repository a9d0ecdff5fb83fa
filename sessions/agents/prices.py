"""What models cost, as data: a file with a currency and, by the name under which a model is asked, the price of a
million tokens in millionths of that currency's unit. All whole numbers.

    {"currency": "USD", "models": {"small": {"input": 150000, "output": 600000}}}
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec
from django.conf import settings

from agentstate.engine.looping.settings import MILLION, Price
from agentstate.errors import Refused


class BadPrices(Refused):
    """The prices of models are not usable."""

    code = "bad_prices"
    remedy = "Set MODEL_PRICES to a file as docs/agents.md shows it."


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices by model, in one currency."""

    currency: str = ""
    models: dict[str, Price] = {}


def load(data: bytes) -> Prices:
    """Prices from their JSON. Raises BadPrices naming the place."""
    try:
        prices = msgspec.json.decode(data, type=Prices)
    except msgspec.MsgspecError as error:
        raise BadPrices(str(error)) from None
    if not (len(prices.currency) == 3 and prices.currency.isascii() and prices.currency.isupper()):
        raise BadPrices(f"currency: got {prices.currency[:20]!r}, want three capitals")
    return prices


@lru_cache(maxsize=1)
def _from_file(path: str) -> Prices:
    if not path:
        return Prices()
    try:
        return load(Path(path).read_bytes())
    except OSError as error:
        raise BadPrices(f"{path}: {error.strerror}") from None


def in_force() -> Prices:
    """The prices that the settings name; none where they name none. Raises BadPrices."""
    return _from_file(settings.MODEL_PRICES)


def in_words(micros: int) -> str:
    """An amount for people, to the hundredth of a cent, without trailing zeros beyond cents."""
    text = f"{micros // MILLION}.{micros % MILLION:06d}"
    while text[-1] == "0" and len(text.partition(".")[2]) > 2:
        text = text[:-1]
    return f"{text} {in_force().currency}".rstrip()
