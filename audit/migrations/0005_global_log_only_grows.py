"""The global log is append-only like the entries beneath it: triggers for those who can be told so."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.db import migrations

_guard = import_module("audit.migrations.0002_append_only")._guard
_forget = import_module("audit.migrations.0002_append_only")._forget

TABLES = ("audit_glog", "audit_tile", "audit_signedhead", "audit_cosignature", "audit_timestamp", "audit_gap")
ONLY_GROW = {
    "audit_gstate": "NEW.tenant <> OLD.tenant OR NEW.size < OLD.size OR NEW.mapped < OLD.mapped OR NEW.fence < OLD.fence",
    "audit_place": "NEW.log <> OLD.log OR NEW.tenant <> OLD.tenant OR NEW.index < OLD.index OR NEW.size < OLD.size",
}


def _only_grows(table: str, shrinks: str) -> str:
    return f"""
CREATE FUNCTION {table}_only_grows() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF {shrinks} THEN
    RAISE EXCEPTION '{table} only grows';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER only_grows BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_only_grows();
{_guard(table, "DELETE", "")}
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0004_global_log")]

    operations: ClassVar = [
        *[migrations.RunSQL(_guard(table, "UPDATE OR DELETE", ""), _forget(table)) for table in TABLES],
        *[
            migrations.RunSQL(
                _only_grows(table, shrinks), f"{_forget(table)} DROP FUNCTION {table}_only_grows() CASCADE;"
            )
            for table, shrinks in ONLY_GROW.items()
        ],
        migrations.RunSQL(
            "ALTER TABLE audit_gstate SET (fillfactor = 50); ALTER TABLE audit_place SET (fillfactor = 80)",
            "ALTER TABLE audit_gstate RESET (fillfactor); ALTER TABLE audit_place RESET (fillfactor)",
        ),
    ]
