"""The base of all commands."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Command(msgspec.Struct, frozen=True):
    """The base of all commands. `excluded_from_digest` names fields that are looked up for the command: the same
    command, sent again, may have other values there.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset()
