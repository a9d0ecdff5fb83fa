"""Shapes of disclosures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from sessions.disclosures import queries
from sessions.disclosures.commands import LONGEST_POINTER, LONGEST_REASON, MOST_DAYS
from sessions.http.bodies import About, Chars, Command, Range, Words
from sessions.http.openapi import published
from sessions.proofs.schemas import Proof

_LAST = 2**53


class Disclose(Command, kw_only=True):
    """What is shared, and why."""

    what: Annotated[str, Words(queries.WHAT)]
    first: Annotated[int, Range(0, _LAST, "seq; not for a whole session")] | UnsetType = UNSET
    last: Annotated[int, Range(0, _LAST, "seq; of a range")] | UnsetType = UNSET
    pointer: Annotated[str, Chars(LONGEST_POINTER, "of a field: as /text")] | UnsetType = UNSET
    reason: Annotated[str, Chars(LONGEST_REASON)]
    days: Annotated[int, Range(0, MOST_DAYS, "until the link ends; 0, or without it: a file")] | UnsetType = UNSET


class Disclosures(Struct, frozen=True):
    disclosures: Sequence[queries.DisclosureLine]


class Disclosed(Struct, frozen=True):
    disclosure: queries.DisclosureLine
    address: Annotated[str | None, About("of the link; told now, and again for the same idempotency key")]
    file: Annotated[Proof | None, About("the document, where no link was asked for")]


published(Disclosure=queries.DisclosureLine)
