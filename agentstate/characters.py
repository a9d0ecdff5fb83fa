"""Control, bidirectional and invisible characters, shown by name where people read: `[U+202E right-to-left override]`.

Nothing is removed, and the API gives every text as it is. Line breaks and tabs stay as they are, and so do joiners
where a script or an emoji needs them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

# Characters that are invisible, or that change how others are shown.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)
_JOINING = "\u0600-\u06ff\u0700-\u074f\u0750-\u077f\u07c0-\u07ff\u08a0-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af"
_JOINING += "\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_EMOJI = "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
_EMOJI += "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_ORDINARY = (
    "\r\n",
    f"(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])",
    f"(?<=[{_VIRAMA}])[\u200c\u200d]",
    f"(?<=[{_EMOJI}])\ufe0f?\u200d(?=[{_EMOJI}])",
    f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]",
    "(?<=[0-9#*])\ufe0f(?=\u20e3)",
    "(?<=\U0001f3f4)[\U000e0020-\U000e007e]{1,6}\U000e007f",  # a flag of a region
    "(?<=[\u1800-\u18af])[\u180b-\u180f]",
)
_SUSPECT = re.compile(f"[{_HIDDEN}]")  # ten times as fast: most pages hold none
_FOUND = re.compile(f"(?:{'|'.join(_ORDINARY)})|(?P<hidden>[{_HIDDEN}])(?P=hidden)*")
_PART = re.compile(
    r"<!--.*?-->|<(script|style|textarea|option|title)\b[^>]*>.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE
)
_SPOKEN = re.compile(r'(?<=\s)((?:title|alt|aria-label|placeholder)=")([^"]*)', re.IGNORECASE)
_BREAK = re.compile(r"\r?\n")
_NAMES = {0x00: "null", 0x08: "backspace", 0x0B: "line tabulation", 0x0C: "form feed"}
_NAMES |= {0x0D: "carriage return", 0x1B: "escape", 0x7F: "delete"}
_KINDS = {"Cc": "control character", "Co": "private use character", "Cs": "lone surrogate"}


def marked(text: str) -> str:
    """Returns the text with a visible mark in place of each hidden character."""
    return _marked(text, str)


def one_line(text: str) -> str:
    """Returns the text on one line: a break is shown as an arrow, so that no second line passes for one of ours."""
    return _BREAK.sub("\u21b5 ", text)


def marked_page(page: str) -> str:
    """Returns an HTML page with marks in its texts and spoken attributes. Values of forms stay as they are: they are
    sent back.
    """
    if not _SUSPECT.search(page):
        return page
    parts: list[str] = []
    end = 0
    for found in _PART.finditer(page):
        parts += [_marked(page[end : found.start()], _span), _of_tag(found)]
        end = found.end()
    return "".join([*parts, _marked(page[end:], _span)])


def _of_tag(found: re.Match[str]) -> str:
    name = (found[1] or "").lower()
    if name == "title":
        return marked(found[0])
    return found[0] if name else _SPOKEN.sub(lambda part: part[1] + marked(part[2]), found[0])


def _span(mark: str) -> str:
    return f'<span class="hidden-character">{mark}</span>'


def _marked(text: str, put: Callable[[str], str]) -> str:
    return _FOUND.sub(lambda found: put(_mark(found)) if found["hidden"] else found[0], text)


def _mark(found: re.Match[str]) -> str:
    character, count = found["hidden"], len(found[0])
    times = f" \u00d7{count}" if count > 1 else ""
    return f"[U+{ord(character):04X} {_name(character)}{times}]"


def _name(character: str) -> str:
    known = _NAMES.get(ord(character)) or unicodedata.name(character, "").lower()
    return known or _KINDS.get(unicodedata.category(character), "character without a name")


def on_pages(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns the middleware that marks hidden characters on every page."""

    def respond(request: Any) -> Any:
        response = get_response(request)
        if response.get("Content-Type", "").startswith("text/html") and not response.streaming:
            page = response.content.decode(response.charset)
            if (shown := marked_page(page)) is not page:
                response.content = shown
        return response

    return respond
