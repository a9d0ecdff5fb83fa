"""Entries are never changed, by anybody who can be told so: row and TRUNCATE triggers without an off switch.

A superuser can still drop a trigger; the verifier then shows what was altered.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

TABLES = {
    # table: the statements refused, and to whom they are allowed all the same
    "audit_entry": ("UPDATE OR DELETE", ""),
    "audit_receipt": ("UPDATE OR DELETE", ""),
    "audit_payload": ("UPDATE OR DELETE", "IF TG_OP = 'DELETE' AND current_user = 'erase' THEN RETURN OLD; END IF;"),
    "audit_head": ("DELETE", ""),
}

HEAD_ONLY_GROWS = """
CREATE FUNCTION audit_head_only_grows() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF NEW.log <> OLD.log OR NEW.tenant <> OLD.tenant OR NEW.size < OLD.size THEN
    RAISE EXCEPTION 'a head of the ledger only grows: % from % to %', OLD.log, OLD.size, NEW.size;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER only_grows BEFORE UPDATE ON audit_head FOR EACH ROW EXECUTE FUNCTION audit_head_only_grows();
"""


def _guard(table: str, statements: str, exception: str) -> str:
    return f"""
CREATE FUNCTION {table}_is_append_only() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  {exception}
  RAISE EXCEPTION '{table} is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER append_only BEFORE {statements} ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_is_append_only();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {table}_is_append_only();
"""


def _forget(table: str) -> str:
    return f"DROP FUNCTION {table}_is_append_only() CASCADE;"


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0001_initial")]

    operations: ClassVar = [
        *[
            migrations.RunSQL(_guard(table, statements, exception), _forget(table))
            for table, (statements, exception) in TABLES.items()
        ],
        migrations.RunSQL(HEAD_ONLY_GROWS, "DROP FUNCTION audit_head_only_grows() CASCADE;"),
        migrations.RunSQL("ALTER TABLE audit_head SET (fillfactor = 70)", "ALTER TABLE audit_head RESET (fillfactor)"),
    ]
