"""What stands in an address: ids in its path, and parameters after its question mark, each read strictly.

A kind of parameter is the annotation of an argument: `limit: Annotated[int, Whole(1, 500)]`. It reads the text, and it
is the schema of the OpenAPI document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Protocol
from uuid import UUID

import msgspec
from rest_framework.request import Request

from agentstate.errors import Invalid, NotFound
from sessions.core.states import UnknownSession

MOST = 500  # rows of one page
LAST = 2**53  # no log is longer
MAX_TEXT = 200  # characters
MAX_DIGITS = 16  # of the number of an entry
YEARS = range(2000, 2300)
_WHOLE = re.compile(r"-?[0-9]{1,16}")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WANTED = "want an id such as 0190163d-8694-739b-aea5-966c26f8ad91"


def identifier(text: str, unknown: type[NotFound]) -> UUID:
    """The id in a path. What is no id names nothing: raises `unknown`."""
    if not _ID.fullmatch(text):
        raise unknown(_WANTED)
    return UUID(text)


class Parameters:
    """The parameters of one request. Those not in `known`, and those given twice, are refused."""

    def __init__(self, request: Request, *known: str) -> None:
        self._given: dict[str, str] = {}
        for name, values in request.query_params.lists():
            if name not in known:
                raise Invalid(f"there is no such parameter here, only {', '.join(known)}", field=name[:60])
            if len(values) != 1:
                raise Invalid(f"got it {len(values)} times, want it once", field=name)
            self._given[name] = str(values[0])

    def get(self, name: str) -> str | None:
        """What was given under the name."""
        return self._given.get(name)

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        text = self._given.get(name)
        return default if text is None else Whole(low, high).read(name, text)

    def text(self, name: str, most: int = MAX_TEXT) -> str:
        """A text of at most so many characters; empty when the parameter is absent."""
        return Text(most=most).read(name, self._given.get(name, ""))

    def one_of(self, name: str, allowed: list[str]) -> str:
        """One of the words allowed; an empty text when the parameter is absent."""
        text = self._given.get(name)
        return "" if text is None else OneOf(allowed).read(name, text)

    def id(self, name: str) -> UUID | None:
        """An id."""
        text = self._given.get(name)
        return None if text is None else Id().read(name, text)


class Kind(Protocol):
    """A kind of parameter: its text read, or refused, and its JSON Schema."""

    @property
    def about(self) -> str:
        """The description."""
        ...

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        ...

    def read(self, name: str, text: str) -> Any:
        """The value of the text. Raises Invalid, or the refusal of what a path does not name."""
        ...


class Whole(msgspec.Struct, frozen=True):
    """A whole number from `low` to `high`."""

    low: int
    high: int | None = LAST
    about: str = ""
    required: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        bounds = {"minimum": self.low, "maximum": self.high}
        return {"type": "integer", **{name: bound for name, bound in bounds.items() if bound is not None}}

    def read(self, name: str, text: str) -> int:
        high = LAST if self.high is None else self.high
        if not _WHOLE.fullmatch(text) or not self.low <= int(text) <= high:
            raise Invalid(f"want a whole number from {self.low} to {high}", field=name)
        return int(text)


class Text(msgspec.Struct, frozen=True):
    """A text of at most `most` characters."""

    about: str = ""
    most: int = MAX_TEXT
    required: bool = False
    pattern: str = ""  # for the document: what does not fit it is refused by the query

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string"} | ({"pattern": self.pattern} if self.pattern else {})

    def read(self, name: str, text: str) -> str:
        if len(text) > self.most or "\x00" in text:
            raise Invalid(f"want at most {self.most} characters, without NUL", field=name)
        return text


class OneOf(msgspec.Struct, frozen=True):
    """One of the words allowed."""

    allowed: Sequence[str]
    about: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.allowed)}

    def read(self, name: str, text: str) -> str:
        if text not in self.allowed:
            raise Invalid(f"want one of {', '.join(self.allowed)}", field=name)
        return text


class Flag(msgspec.Struct, frozen=True):
    """`true` or `false`."""

    about: str = ""
    schema = {"type": "boolean"}

    def read(self, name: str, text: str) -> bool:
        return OneOf(("true", "false")).read(name, text) == "true"


class Id(msgspec.Struct, frozen=True):
    """An id. In a path, what is no id names nothing: `unknown` is raised."""

    unknown: type[NotFound] | None = None
    about: str = ""
    schema = {"type": "string", "format": "uuid"}

    def read(self, name: str, text: str) -> UUID:
        if self.unknown is not None:
            return identifier(text, self.unknown)
        if not _ID.fullmatch(text):
            raise Invalid(_WANTED, field=name)
        return UUID(text)


class Seq(msgspec.Struct, frozen=True):
    """The number of an entry in a path. What is no such number names nothing: `unknown` is raised."""

    unknown: type[NotFound]
    high: int | None = None
    about: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        return Whole(0, self.high).schema

    def read(self, name: str, text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS):
            raise self.unknown("want the number of an entry")
        return int(text)


class Day(msgspec.Struct, frozen=True):
    """A day as 2026-11-21."""

    about: str = ""
    schema = {"type": "string", "format": "date"}

    def read(self, name: str, text: str) -> date | None:
        return day_of(text, name)


def day_of(text: str, field: str) -> date | None:
    """A day as 2026-11-21; None for an empty text. Raises Invalid."""
    if not text:
        return None
    try:
        if len(text) != len("2026-11-21"):
            raise ValueError
        found = date.fromisoformat(text)
    except ValueError:
        raise Invalid("want a day, as 2026-11-21", field=field) from None
    if found.year not in YEARS:
        raise Invalid(f"want a day of the years {YEARS.start} to {YEARS.stop - 1}", field=field)
    return found


SessionId = Annotated[UUID, Id(UnknownSession)]
Limit = Annotated[int, Whole(1, MOST, "rows of a page")]
After = Annotated[UUID | None, Id(about="`next` of the page before")]
Above = Annotated[int, Whole(-1, LAST, "seq above this")]
