"""The reasons that staff give for a delegation or an audit access, sealed under the key of their team.

`people` knows no keys: the wiring sets `keyring`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Protocol, TypeVar
from uuid import UUID

from agentstate.errors import Broken

Stored = bytes | memoryview  # as a row holds it


class Keyring(Protocol):
    """Seals the texts of teams."""

    def seal(self, tenant: UUID, team: UUID, text: str) -> bytes:
        """Returns `text` sealed under the team's key."""

    def opened(self, sealed: bytes) -> str:
        """Returns the text; empty once the team's key is destroyed."""

    def fetch(self, sealed: Iterable[bytes]) -> None:
        """Fetches the keys of many sealed texts in one query."""


class HasReason(Protocol):
    """A row with a sealed reason."""

    @property
    def sealed_reason(self) -> Stored:
        """The reason as the row holds it."""


Row = TypeVar("Row", bound=HasReason)
keyring: Keyring | None = None


def _keyring() -> Keyring:
    if keyring is None:
        raise Broken("the wiring has set no keyring")
    return keyring


def seal(tenant: UUID, team: UUID, reason: str) -> bytes:
    """Returns a reason sealed under the team's key."""
    return _keyring().seal(tenant, team, reason)


def opened(sealed: Stored) -> str:
    """Returns the reason in clear; empty once the team's key is destroyed."""
    return _keyring().opened(bytes(sealed))


def on_record(sealed: Stored) -> str:
    """Returns a sealed reason as an entry of the staff log holds it: base64."""
    return b64encode(sealed).decode()


def with_keys(rows: Iterable[Row]) -> list[Row]:
    """Returns the rows, after the keys of their reasons were fetched in one query."""
    found = list(rows)
    _keyring().fetch(bytes(row.sealed_reason) for row in found)
    return found
