"""Constraints of the database that migrations add."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import migrations


def same_tenant(table: str, parents: Mapping[str, str]) -> migrations.RunSQL:
    """Returns the operation by which the database refuses a row of `table` whose people or team are of another tenant.

    `parents` gives, by foreign key, the model that it refers to: "user" or "team".
    """
    names = {column: f"{table}_{column}_same_tenant" for column in parents}
    return migrations.RunSQL(
        [
            f"ALTER TABLE {table} ADD CONSTRAINT {names[column]} FOREIGN KEY ({column}_id, tenant_id) "
            f"REFERENCES people_{parent} (id, tenant_id) DEFERRABLE INITIALLY DEFERRED"
            for column, parent in parents.items()
        ],
        [f"ALTER TABLE {table} DROP CONSTRAINT {name}" for name in names.values()],
    )
