"""The base of all commands."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Command(msgspec.Struct, frozen=True):
    """The base of all commands. `beside_the_wish` names fields that are found out for it: the same command, sent again,
    may find others.
    """

    beside_the_wish: ClassVar[frozenset[str]] = frozenset()
