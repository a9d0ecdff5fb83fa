"""Where exports come from: this installation's ledger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from audit import erasure, keys, ledger


class LedgerSource:
    """One log of the ledger, read row by row."""

    def __init__(self, log: UUID) -> None:
        self._log = log
        self._erased: dict[UUID, bool] = {}  # whether the erasure is on record, of keys that are gone

    def size(self) -> int:
        """How many entries the head row counts. Raises ledger.UnknownLog."""
        return ledger.read_head(self._log).size

    def rows(self) -> Iterator[ledger.Row]:
        """The stored rows, unchecked."""
        return ledger.read_rows(self._log)

    def okm(self, envelope: dict[str, Any]) -> bytes | None:
        """The key material of one entry, by what its envelope says; None if its subject was erased.

        A key that is gone without an erasure on the record of staff never was: somebody who owns the database put the
        entry there. Raises keys.Unreadable.
        """
        kid, salt = UUID(envelope["kid"]), bytes.fromhex(envelope["salt"])
        try:
            return keys.entry_okm(kid, salt, UUID(envelope["log"]), envelope["seq"])
        except keys.Erased:
            if kid not in self._erased:
                self._erased[kid] = erasure.record_of(kid) is not None
            if not self._erased[kid]:
                raise keys.Unreadable(f"{kid}: no erasure is on record") from None
            return None
