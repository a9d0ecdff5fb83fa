"""What happened to people and their accounts, on its way to the ledger.

Everything in this app that must become an audit entry goes through `record`. `people` does not know the
ledger: the wiring sets `sink`, which is called inside the transaction of the change, so that both are kept or
neither. Facts hold ids and plain values, never a name, a password or a token.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from agentstate.people.models import User

log = logging.getLogger("agentstate.people.trail")

KINDS = frozenset(
    {
        "person.created",
        "person.signed_in",
        "person.signed_out",
        "person.sign_in_failed",
        "person.sign_in_throttled",
        "person.disabled",
        "person.enabled",
        "person.password_changed",
        "role.granted",
        "role.removed",
        "team.created",
        "token.created",
        "token.revoked",
        "token.refused",
        "sign_in_link.created",
        "grant.given",
        "grant.revoked",
        "delegation.given",
        "delegation.revoked",
        "deputy.named",
        "deputy.removed",
    }
)


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened. `actor` is `user:<uuid>` or `system`; `subject` is `user:<uuid>` or empty."""

    kind: str
    actor: str
    subject: str
    tenant: UUID | None
    facts: dict[str, str | int | bool] = field(default_factory=dict)


def write_log_line(record: Record) -> None:
    """The sink until the wiring sets another: one JSON line in the log."""
    line = {"kind": record.kind, "actor": record.actor, "subject": record.subject, **record.facts}
    log.info(json.dumps(line, sort_keys=True))


sink: Callable[[Record], None] = write_log_line


def record(kind: str, actor: User | None, subject_user: User | None, **facts: str | int | bool) -> None:
    """Hand one record to the sink. `actor` None is the machine itself. Other kinds than KINDS: ValueError."""
    if kind not in KINDS:
        raise ValueError(f"got kind {kind!r}, want one of {sorted(KINDS)}")
    who = actor.actor if actor is not None else "system"
    subject = subject_user.actor if subject_user is not None else ""
    person = subject_user or actor
    sink(Record(kind, who, subject, person.tenant_id if person else None, facts))
