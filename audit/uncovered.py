"""Columns that no proof covers, compared with what the ledger says: a head's tenant, and the dates of a data subject's
key. `manage.py rebuild --check` tells what differs.

A head's tenant is the one in whose global log its leaf stands. When a key was closed and destroyed stands in the log of
staff, in entries that nobody forges without a key.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
from django.conf import settings

from agentstate.errors import AgentStateError
from audit import erasure, ledger, staff
from audit.ledger import run

APART = timedelta(minutes=2)  # that a date and its entry may be, and no more

# A head that never was in a round must at least be of a tenant that has a global log.
_STRAYS = """
SELECT h.log, h.tenant FROM audit_head h
  LEFT JOIN audit_place p ON p.log = h.log
  LEFT JOIN audit_glog g ON g.tenant = h.tenant AND g."index" = p."index"
  WHERE CASE WHEN p.log IS NULL
    THEN NOT EXISTS (SELECT 1 FROM audit_gstate s WHERE s.tenant = h.tenant)
      AND EXISTS (SELECT 1 FROM audit_gstate)
    ELSE position(convert_to(%(origin)s || '/s/' || h.log || chr(10), 'UTF8') IN coalesce(g.body, '')) <> 1 END
  ORDER BY h.log"""
_KEYS = """
SELECT kid, tenant, created, closing_at, destroyed_at, wrapped IS NOT NULL FROM audit_subjectkey
  WHERE closing_at IS NOT NULL OR destroyed_at IS NOT NULL OR wrapped IS NULL OR kid = ANY(%(kids)s) ORDER BY kid"""
_ERASURES = """
SELECT e.log, e.seq, e.envelope, p.ciphertext FROM audit_entry e JOIN audit_payload p USING (log, seq)
  WHERE position(convert_to(%(begun)s, 'UTF8') IN e.envelope) > 0
    OR position(convert_to(%(destroyed)s, 'UTF8') IN e.envelope) > 0 ORDER BY e.log, e.seq"""


def differences() -> list[str]:
    """What differs, one line each. Reads all envelopes."""
    strays = run(_STRAYS, {"origin": settings.LOG_ORIGIN})
    lines = [f"{log} tenant: got {tenant}, in whose global log it does not stand" for log, tenant in strays]
    recorded = _recorded()
    for kid, tenant, created, closing, destroyed, wrapped in run(_KEYS, {"kids": list(recorded)}):
        said = {kind: at for (of, kind), at in recorded[kid].items() if of == tenant}
        lines += _of_key(kid, said, closing, destroyed)
        if wrapped == (destroyed is not None):
            lines.append(f"key {kid}: got {'a' if wrapped else 'no'} key, destroyed at {destroyed}")
        if (closing or destroyed) and created > (closing or destroyed):
            lines.append(f"key {kid} created: got {created}, after its end")
    return lines


def _of_key(kid: UUID, said: dict[str, datetime], closing: datetime | None, destroyed: datetime | None) -> list[str]:
    """A date that an entry says stands in the row, and the other way about. Who was killed right after closing the key
    left no entry of that, but later one of its end.
    """
    lines = []
    pairs = [("destroyed_at", destroyed, said.get(erasure.DESTROYED))]
    if closing is None or erasure.BEGUN in said or erasure.DESTROYED not in said:
        pairs.append(("closing_at", closing, said.get(erasure.BEGUN)))
    for name, got, want in pairs:
        if (got is None) != (want is None) or (got and want and abs(got - want) > APART):
            lines.append(f"key {kid} {name}: got {got}, the log of staff says {want}")
    return lines


def _recorded() -> dict[UUID, dict[tuple[UUID, str], datetime]]:
    """Key -> (tenant, kind) -> when, as the logs of staff say."""
    found: dict[UUID, dict[tuple[UUID, str], datetime]] = defaultdict(dict)
    tenants = [tenant for (tenant,) in run("SELECT DISTINCT tenant FROM audit_head", {})]
    kinds = {"begun": f'"kind":"{erasure.BEGUN}"', "destroyed": f'"kind":"{erasure.DESTROYED}"'}
    for log, seq, envelope, ciphertext in run(_ERASURES, kinds):
        try:
            read, payload = ledger.open_row(ledger.Row(seq, bytes(envelope), bytes(ciphertext)))
            at = datetime.fromisoformat(read.at).astimezone(UTC)
        except (AgentStateError, ValueError):
            continue  # one that nobody could have written here
        if read.log != str(log) or read.seq != seq:
            continue
        for tenant in tenants:
            if staff.log_of(tenant, at) == log:
                facts = msgspec.json.decode(payload)
                found[UUID(facts["subject_key"])].setdefault((tenant, facts["kind"]), at)
    return found
