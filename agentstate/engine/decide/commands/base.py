"""The base of all commands."""

from __future__ import annotations

import msgspec


class Command(msgspec.Struct, frozen=True):
    """The base of all commands."""
