"""The triggers of places and of the global log's state ask their question outside of their functions, like the heads'."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.db import migrations

ONLY_GROW = import_module("audit.migrations.0005_global_log_only_grows").ONLY_GROW


def _trigger(table: str, when: str) -> str:
    return (
        f"DROP TRIGGER only_grows ON {table};"
        f"CREATE TRIGGER only_grows BEFORE UPDATE ON {table} FOR EACH ROW {when} EXECUTE FUNCTION {table}_only_grows();"
    )


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0009_head_trigger")]

    operations: ClassVar = [
        migrations.RunSQL(_trigger(table, f"WHEN ({shrinks})"), _trigger(table, ""))
        for table, shrinks in ONLY_GROW.items()
    ]
