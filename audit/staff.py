"""The log of what staff and accounts did: sign-ins, roles, tokens. One log a tenant and day, apart from all sessions.

Entries name people by opaque id and are encrypted under the key of the person they are about.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID, uuid5

import msgspec
from django.db import transaction

from agentstate.engine.instants import stamp
from agentstate.errors import Broken
from agentstate.ids import new_id
from audit import keys, ledger

TRIES = 10
LOGS = UUID("3b0c8a52-6d0b-5a0e-8a3d-5f5c6f1d2e90")  # namespace of the logs' ids


def log_of(tenant: UUID, day: datetime) -> UUID:
    """The log of one tenant's staff on one day (UTC)."""
    return uuid5(LOGS, f"{tenant}/{day:%Y-%m-%d}")


def record(tenant: UUID, at: datetime, kind: str, actor: str, subject: str, facts: Mapping[str, object]) -> None:
    """Append one entry, in the caller's transaction if there is one."""
    log = log_of(tenant, at)
    batch = ledger.Batch(
        drafts=[ledger.Draft(kind, msgspec.json.encode({"kind": kind, "subject": subject, **facts}))],
        kid=keys.subject_kid(tenant, subject or actor),
        actor=actor,
        at=stamp(at),
        command=new_id(),
    )
    for _ in range(TRIES):
        if _append(log, tenant, batch) is not None:
            return
    raise Broken(f"staff log {log}: the head moved {TRIES} times")


def _append(log: UUID, tenant: UUID, batch: ledger.Batch) -> ledger.Head | None:
    with transaction.atomic():
        try:
            head = ledger.read_head(log, lock=True)
        except ledger.UnknownLog:
            return ledger.create(log, tenant, batch)
        return ledger.append(head, batch)
