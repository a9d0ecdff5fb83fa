"""Exports: one session as one file that an outsider can verify without us.

bundle.py says what goes in, archive.py how it is packed, source.py where it comes from, report.py what a
person reads. audit/verify.py defines the shape of the archive and reads it all back.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.clock import now
from audit import ledger, staff


def record_export(log: UUID, by: str, unmasked: str = "") -> None:
    """An entry of the staff log: `by` (an actor's id) is about to get an export of `log`, with personal values in clear
    for the reason `unmasked`, if there is one. Before its first byte.
    """
    tenant = ledger.read_head(log).tenant
    facts = {"log": str(log)} | ({"unmasked": unmasked} if unmasked else {})
    staff.record(tenant, now(), "export.made", by, "", facts)
