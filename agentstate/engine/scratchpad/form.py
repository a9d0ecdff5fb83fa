"""The state as a form: what is still to be filled in, in words for a model request and for the progress shown.

The schema is the form; `schemas.missing` finds what it requires and does not have. What is private is nobody's to fill
in from a conversation with a model, so a request does not name it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agentstate.engine import schemas
from agentstate.engine.schemas import Declared
from agentstate.engine.schemas.descent import layers
from agentstate.engine.scratchpad.paths import BadPath, Pad


class Blank(msgspec.Struct, frozen=True):
    """One field that is still empty: its path, what the schema calls it and what may stand in it."""

    path: str
    title: str = ""
    wanted: str = ""
    private: bool = False

    def __str__(self) -> str:
        title = f" ({self.title})" if self.title else ""
        return f"{self.path}{title}: {self.wanted}" if self.wanted else f"{self.path}{title}"


def blanks(form: Declared | None, pad: Pad) -> tuple[Blank, ...]:
    """What the form still lacks, in its order."""
    if form is None:
        return ()
    return tuple(_blank(form, problem.path) for problem in schemas.missing(form, pad))


def asked_for(found: Iterable[Blank]) -> str:
    """The words for a model request: one line for each field that is not private."""
    return "\n".join(f"- {blank}" for blank in found if not blank.private)


def _blank(form: Declared, path: str) -> Blank:
    try:
        place = schemas.place_of(form, path)
    except BadPath:  # a name that no path can reach
        return Blank(path)
    words = layers(form.schema, place.schema)
    title = next((str(layer[word]) for word in ("title", "description") for layer in words if word in layer), "")
    return Blank(path, title[:200], _wanted(words), place.private)


def _wanted(found: list[dict[str, Any]]) -> str:
    for layer in found:
        if isinstance(layer.get("enum"), list):
            return " or ".join(map(str, layer["enum"]))[:200]
        if layer.get("x-money") is True:
            return "an amount of money"
        if "type" in layer:
            named = layer["type"]
            return named if isinstance(named, str) else " or ".join(map(str, named))
    return ""
