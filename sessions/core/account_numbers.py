"""Account numbers as lists show them: by their last four digits, whoever looks. The decision card and the session's
page show them whole, to those who may read them.
"""

from __future__ import annotations

import re
from typing import Any

# An IBAN (ISO 13616), eight or more digits in a row, or groups of four; not part of an id or of a longer word.
_IBAN = r"[A-Z]{2}\d{2}(?: ?[0-9A-Z]{4}){2,7}(?: ?[0-9A-Z]{1,3})?"
_NUMBER = re.compile(rf"(?<![\w.,-])(?:{_IBAN}|\d{{8,}}|\d{{4}}(?: \d{{4}})+(?: \d{{1,4}})?)(?![\w-])")
KEPT = 4  # digits


def shortened(text: str) -> str:
    """Returns a text with the account numbers in it shortened: `account 7799001122` becomes `account ..1122`."""
    return _NUMBER.sub(lambda found: f"..{found[0].replace(' ', '')[-KEPT:]}", text)


def shortened_in(value: Any) -> Any:
    """Returns a JSON value with the account numbers in its texts shortened."""
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, dict):
        return {name: shortened_in(each) for name, each in value.items()}
    return [shortened_in(each) for each in value] if isinstance(value, list | tuple) else value
