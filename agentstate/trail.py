"""Leads the trail of `people` into the ledger."""

from __future__ import annotations

from agentstate.clock import now
from agentstate.people.trail import Record, write_log_line
from audit import staff


def to_ledger(record: Record) -> None:
    """The sink: an entry in the staff log of the tenant.

    What concerns no known account (a refused token, a name that does not exist) belongs to the only tenant there is.
    """
    tenant = record.tenant
    if tenant is None:
        from agentstate.people.models import Tenant

        tenant = Tenant.objects.values_list("pk", flat=True).first()
    if tenant is None:
        write_log_line(record)  # before the first migration has made the tenant, there is no log to write to
        return
    staff.record(tenant, now(), record.kind, record.actor, record.subject, record.facts)
