"""A key that can be used but not shown, and the test whether some text gives it away.

Not a vault: the value is in the process's memory. It stays out of reprs, logs, errors, pickles and entries.
"""

from __future__ import annotations

import base64
import json
import re

# Shorter "keys" are placeholders of local servers ("none", "EMPTY"): words that answers may well contain.
SHORTEST = 8
_WINDOW = 6
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_HEADER = re.compile(r"authorization|bearer|x-api-key", re.IGNORECASE)


class Secret:
    """A secret string; empty when there is none. `reveal()` is the only way out."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Secret(set)" if self._value else "Secret(none)"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def is_in(self, text: str) -> bool:
        """Whether `text` (plain or JSON) holds the whole secret. Under 8 characters it is a placeholder."""
        if len(self._value) < SHORTEST:
            return False
        return self._value in text or json.dumps(self._value)[1:-1] in text

    def safe_length(self, text: str) -> int:
        """How much of `text` may be passed on: all but an end that may be the secret's beginning."""
        if len(self._value) < SHORTEST:
            return len(text)
        longest = min(len(text), len(self._value) - 1)
        held = (size for size in range(longest, 0, -1) if text.endswith(self._value[:size]))
        return len(text) - next(held, 0)

    def may_be_in(self, text: str) -> bool:
        """Whether `text` might repeat a part of the secret, or the header that carries it.

        For error texts, where a false alarm costs an explanation and a miss costs the key: any six letters
        or digits of it in a row, whatever stands between them, in either case, plain, as base64 or as hex.
        """
        if not self._value:
            return False
        if len(self._value) < SHORTEST or _HEADER.search(text):
            return True
        plain = _letters(text)
        return any(window in plain for form in self._forms() for window in _windows(_letters(form)))

    def _forms(self) -> tuple[str, ...]:
        raw = self._value.encode()
        return self._value, base64.b64encode(raw).decode(), raw.hex()


def _letters(text: str) -> str:
    return _NOT_ALPHANUMERIC.sub("", text).casefold()


def _windows(text: str) -> list[str]:
    return [text[start : start + _WINDOW] for start in range(max(len(text) - _WINDOW, 0) + 1)] if text else []
