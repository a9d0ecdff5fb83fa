"""Lines of the log, without the secrets that addresses hold, and without words that callers put into them.

Django names the address of each request that it refuses. Whoever has the address of a link can open it, so such a part
of an address is replaced in the whole line, tracebacks included. A program that asks for `/customers/Jane Doe/profile`
by mistake would leave that name in the log, which no erasure reaches: only ids and words of the site's own are shown.
"""

from __future__ import annotations

import logging
import re

REPLACED, TYPED = "[secret]", "[typed]"
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


_ID = r"\d{1,6}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\[secret\]"
_IDS = re.compile(_ID)
_OURS = re.compile(rf"(?:[a-z][a-z-]*(?:\.[a-z]+)?|v1|{_ID})?")  # also words of the site, as far as their form says


class Line(logging.Formatter):
    """Formats a record as one line, without secrets, and without what a caller typed into an address."""

    def format(self, record: logging.LogRecord) -> str:
        line = without_secrets(super().format(record))
        request = getattr(record, "request", None)
        path = getattr(request, "path", "")
        if len(path) < 2:
            return line
        match = getattr(request, "resolver_match", None)
        typed = {value for value in match.kwargs.values() if isinstance(value, str)} if match else set()
        written = without_secrets(path.encode("unicode_escape").decode("ascii"))  # as Django writes it
        return line.replace(written, _without_typed(written, typed))


def _without_typed(path: str, typed: set[str]) -> str:
    """The address with its ids and the site's own words alone; `typed` are parts where anything may stand."""
    parts = path.split("/")
    return "/".join(each if (_IDS if each in typed else _OURS).fullmatch(each) else TYPED for each in parts)
