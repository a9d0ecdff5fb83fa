"""The head's trigger asks its question outside of its function: an append that grows the head calls none."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

DROP = "DROP TRIGGER only_grows ON audit_head;"
CREATE = "CREATE TRIGGER only_grows BEFORE UPDATE ON audit_head FOR EACH ROW {when} EXECUTE FUNCTION audit_head_only_grows();"
WHEN = "WHEN (NEW.log <> OLD.log OR NEW.tenant <> OLD.tenant OR NEW.size < OLD.size)"


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0008_log_keys")]

    operations: ClassVar = [migrations.RunSQL(DROP + CREATE.format(when=WHEN), DROP + CREATE.format(when=""))]
