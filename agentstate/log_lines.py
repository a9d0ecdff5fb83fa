"""Lines of the log, without the secrets that addresses hold.

Django names the address of each request that it refuses. Whoever has the address of a link can open it, so such a part
of an address is replaced in the whole line, tracebacks included.
"""

from __future__ import annotations

import logging
import re

REPLACED = "[secret]"
# What follows these in an address is a secret: of a disclosure's link, and of a link that signs somebody in.
PLACES = ("shared", "sign-in/link")
_SLASH = r"(?:/|%2f)+"
_PLACE = "|".join(place.replace("/", _SLASH) for place in PLACES)
_AFTER = re.compile(rf"({_SLASH}(?:{_PLACE}){_SLASH})[^/\s\"'<>?]+", re.IGNORECASE)
# A token of ours anywhere else, as in an address that was mistyped: 32 bytes as base64url are 43 characters.
_TOKEN = re.compile(r"(?<![\w-])(?:ags_)?[\w-]{43}(?![\w-])", re.ASCII)


def without_secrets(line: str) -> str:
    """Returns the line with every secret of an address, and every token of ours, replaced."""
    return _TOKEN.sub(REPLACED, _AFTER.sub(rf"\1{REPLACED}", line))


class Line(logging.Formatter):
    """Formats a record as one line, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))
