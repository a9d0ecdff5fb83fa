"""What stands in an address: ids in its path, and parameters after its question mark, each read strictly."""

from __future__ import annotations

import re
from uuid import UUID

from rest_framework.request import Request

from agentstate.errors import Invalid, NotFound

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

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        text = self._given.get(name)
        if text is None:
            return default
        if not _WHOLE.fullmatch(text) or not low <= int(text) <= high:
            raise Invalid(f"want a whole number from {low} to {high}", field=name)
        return int(text)

    def text(self, name: str, most: int = 200) -> str:
        """A text of at most so many characters; empty when the parameter is absent."""
        text = self._given.get(name, "")
        if len(text) > most or "\x00" in text:
            raise Invalid(f"want at most {most} characters, without NUL", field=name)
        return text

    def one_of(self, name: str, allowed: list[str]) -> str:
        """One of the words allowed; an empty text when the parameter is absent."""
        text = self._given.get(name)
        if text is not None and text not in allowed:
            raise Invalid(f"want one of {', '.join(allowed)}", field=name)
        return text or ""

    def id(self, name: str) -> UUID | None:
        """An id."""
        text = self._given.get(name)
        if text is not None and not _ID.fullmatch(text):
            raise Invalid(_WANTED, field=name)
        return UUID(text) if text is not None else None
