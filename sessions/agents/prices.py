"""What models cost, as data: `prices/<name>.json` of the library, with a currency and, by the name under which a model
is asked, the price of a million tokens in millionths of that currency's unit. All whole numbers.

    {"currency": "USD", "models": {"small": {"input": 150000, "output": 600000}}}
"""

from __future__ import annotations

import msgspec

from agentstate.engine.looping.settings import MILLION, Price
from agentstate.errors import Refused
from sessions.library import folders

KIND = "prices"


class BadPrices(Refused):
    """The prices of models are not usable."""

    code = "bad_prices"
    remedy = "Write prices/<name>.json as docs/agents.md shows it."


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


@folders.cached
def named(name: str) -> Prices:
    """The prices in `prices/<name>.json` of the library. Raises BadPrices naming the file."""
    file = folders.files(KIND).get(f"{name}.json")
    if file is None:
        raise BadPrices(f"there is no {KIND}/{name}.json")
    try:
        return load(file.data)
    except BadPrices as error:
        raise BadPrices(f"{file.path}: {error.detail}") from None


@folders.cached
def in_force() -> Prices:
    """The prices of all files together; none where there are none. Raises BadPrices."""
    found = [named(file.name) for file in folders.files(KIND).values()]
    if len({each.currency for each in found}) > 1:
        raise BadPrices(f"{KIND}: got {sorted({each.currency for each in found})}, want one currency")
    models = {model: price for each in found for model, price in each.models.items()}
    return Prices(found[0].currency, models) if found else Prices()


def in_words(micros: int) -> str:
    """An amount for people, to the hundredth of a cent, without trailing zeros beyond cents."""
    text = f"{micros // MILLION}.{micros % MILLION:06d}"
    while text[-1] == "0" and len(text.partition(".")[2]) > 2:
        text = text[:-1]
    return f"{text} {in_force().currency}".rstrip()
