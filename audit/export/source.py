"""Where exports come from: this installation's ledger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from audit import keys, ledger


class LedgerSource:
    """One log of the ledger, read row by row."""

    def __init__(self, log: UUID) -> None:
        self._log = log

    def size(self) -> int:
        """How many entries the head row counts. Raises ledger.UnknownLog."""
        return ledger.read_head(self._log).size

    def rows(self) -> Iterator[ledger.Row]:
        """The stored rows, unchecked."""
        return ledger.read_rows(self._log)

    def okm(self, envelope: dict[str, Any]) -> bytes | None:
        """The key material of one entry, by what its envelope says; None if its subject was erased."""
        salt = bytes.fromhex(envelope["salt"])
        try:
            return keys.entry_okm(UUID(envelope["kid"]), salt, UUID(envelope["log"]), envelope["seq"])
        except keys.Erased:
            return None
