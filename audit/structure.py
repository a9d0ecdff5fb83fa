"""What the database and the program are made of is on record, in a log of its own: one entry for each change.

A proof of what tables hold says nothing of a table that was dropped or of a trigger that was taken away. So every start
compares the applied migrations, the catalogue (columns, constraints, indexes, triggers, functions, grants) and the
program's own files with the last entry, and adds one where they differ. Who changes them by hand leaves a trace.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import msgspec
from django.conf import settings

from agentstate.engine.instants import stamp
from agentstate.ids import new_id
from audit import keys, ledger
from audit.staff import LOGS

KIND = "structure.changed"
OWNER = "installation"  # the subject under whose key these entries are
PROGRAM = ("agentstate", "audit", "sessions")  # folders with its files

_CATALOGUE = """
SELECT 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull,
    coalesce(pg_get_expr(d.adbin, d.adrelid), '')
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'v')
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT 'grants', relname, relkind::text, '', relacl::text FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, '', pg_get_constraintdef(oid) FROM pg_constraint
  WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'index', tablename, indexname, '', indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname, tgenabled::text, pg_get_triggerdef(oid) FROM pg_trigger
  WHERE NOT tgisinternal
UNION ALL SELECT 'function', proname, '', coalesce(proacl::text, ''), pg_get_functiondef(oid) FROM pg_proc
  WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'"""


def log_of(tenant: UUID) -> UUID:
    """The log in which a tenant's installation says what it is made of."""
    return uuid5(LOGS, f"{tenant}/structure")


def record(tenant: UUID, at: datetime) -> bool:
    """Add an entry if anything changed since the last; whether it did. What a start at the same time added counts."""
    present, recorded = now_made_of(), history(tenant)
    if recorded and recorded[-1] == present:
        return False
    batch = ledger.Batch(
        drafts=[ledger.Draft(KIND, msgspec.json.encode({"kind": KIND, **present}))],
        kid=keys.subject_kid(tenant, OWNER),
        actor=ledger.SYSTEM,
        at=stamp(at),
        command=new_id(),
    )
    log = log_of(tenant)
    return ledger.create(log, tenant, batch) is not None or ledger.append(ledger.read_head(log), batch) is not None


def history(tenant: UUID) -> list[dict[str, Any]]:
    """What was recorded, oldest first: `catalogue` and `program` are SHA-256, `migrations` the names that applied."""
    try:
        ledger.read_head(log_of(tenant))
    except ledger.UnknownLog:
        return []
    events = [msgspec.json.decode(payload) for _, payload in ledger.open_rows(ledger.read_rows(log_of(tenant)))]
    return [{name: value for name, value in event.items() if name != "kind"} for event in events]


def now_made_of() -> dict[str, Any]:
    """As of now, in the form of `history`."""
    applied = ledger.run("SELECT app || '.' || name FROM django_migrations", {})
    return {
        "catalogue": _catalogue(),
        "migrations": sorted(name for (name,) in applied),
        "program": _program(Path(settings.BASE_DIR)),
    }


def _catalogue() -> str:
    rows = sorted([part or "" for part in row] for row in ledger.run(_CATALOGUE, {}))
    return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()


def _program(base: Path) -> str:
    digest = hashlib.sha256()
    for folder in PROGRAM:
        for path in sorted((base / folder).rglob("*.py")):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(base).as_posix()} {content}\n".encode())
    return digest.hexdigest()
