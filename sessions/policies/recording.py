"""Which policies are in force is on record: at each start it is compared with what was recorded last.

The comparison is with a log of its own, one for the installation, whose entries say which version of which policy each
agent works under and the digest of its file; a change is told in the staff log as well, where people look.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

import msgspec

from agentstate.engine.instants import stamp
from agentstate.ids import new_id
from audit import keys, ledger, staff
from sessions.agents import registry
from sessions.library import policies

KIND = "policy.in_force"
CHANGED = "policy.changed"
OWNER = "installation"  # the subject under whose key these entries are
State = dict[str, str]  # agent -> `bank@2 <digest>`


def log_of(tenant: UUID) -> UUID:
    """The log in which a tenant's installation says which policies are in force."""
    return uuid5(staff.LOGS, f"{tenant}/policies")


def in_force() -> State:
    """What each agent works under now. Raises BadPolicy."""
    found = {name: policies.named(registry.find(name).policy).reference for name in registry.names()}
    return {name: f"{reference} {policies.digest_of(reference)}" for name, reference in found.items()}


def history(tenant: UUID) -> list[State]:
    """What was recorded, oldest first."""
    try:
        ledger.read_head(log_of(tenant))
    except ledger.UnknownLog:
        return []
    told = (msgspec.json.decode(payload) for _, payload in ledger.open_rows(ledger.read_rows(log_of(tenant))))
    return [each["agents"] for each in told]


def record(tenant: UUID, at: datetime) -> list[str]:
    """Put on record what is otherwise than at the last start, in words; nothing is added where nothing is."""
    present, recorded = in_force(), history(tenant)
    before = recorded[-1] if recorded else {}
    if recorded and before == present:
        return []
    batch = ledger.Batch(
        drafts=[ledger.Draft(KIND, msgspec.json.encode({"kind": KIND, "agents": present}))],
        kid=keys.subject_kid(tenant, OWNER),
        actor=ledger.SYSTEM,
        at=stamp(at),
        command=new_id(),
    )
    log = log_of(tenant)
    written = ledger.create(log, tenant, batch) or ledger.append(ledger.read_head(log), batch)
    changes = _changes(before, present)
    if written is None:  # a start at the same time has added it
        return []
    for change in changes:
        staff.record(tenant, at, CHANGED, ledger.SYSTEM, "", change)
    return [f"{each['agent']}: {each['before'] or 'nothing'} -> {each['now'] or 'nothing'}" for each in changes]


def _changes(before: State, present: State) -> list[dict[str, Any]]:
    named = sorted({*before, *present})
    return [
        {"agent": name, "before": before.get(name, ""), "now": present.get(name, "")}
        for name in named
        if before.get(name) != present.get(name)
    ]
