"""Shapes of data messages and of what they have made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from sessions.data import queries
from sessions.http.bodies import About, Chars, Command, Words
from sessions.http.openapi import published

MESSAGE_TYPE = ["data"]
_KIND = 41
_NAME = 120


class AddData(Command, kw_only=True):
    """A data message in the notation of the plan protocol."""

    type: Annotated[str, Words(MESSAGE_TYPE)]
    kind: Annotated[str, Chars(_KIND, "a lower-case word; none of state and input")] | UnsetType = UNSET
    schema: Annotated[Any, About("a JSON Schema (2020-12) that holds from now on")] | UnsetType = UNSET
    data: Annotated[Any, About("merged into what the kind holds: objects by key, anything else replaced")]
    _instance: Annotated[str, Chars(_NAME, "for this instance alone")] | UnsetType = UNSET


class DataObjects(Struct, frozen=True):
    seq: int
    objects: Sequence[queries.DataLine]


published(DataObject=queries.DataLine)
