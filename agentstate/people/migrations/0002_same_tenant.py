"""A membership, token or link cannot tie rows of two tenants together: the database itself refuses it."""

from __future__ import annotations

from django.db import migrations

PARENTS = ("people_user", "people_team")
CHILDREN = (
    ("people_membership", "user"),
    ("people_membership", "team"),
    ("people_apitoken", "user"),
    ("people_signinlink", "user"),
)


def forward() -> list[str]:
    unique = [f"ALTER TABLE {table} ADD CONSTRAINT {table}_in_tenant UNIQUE (id, tenant_id)" for table in PARENTS]
    same = [
        f"ALTER TABLE {table} ADD CONSTRAINT {table}_{parent}_same_tenant FOREIGN KEY ({parent}_id, tenant_id) "
        f"REFERENCES people_{parent} (id, tenant_id) DEFERRABLE INITIALLY DEFERRED"
        for table, parent in CHILDREN
    ]
    return unique + same


def backward() -> list[str]:
    same = [f"ALTER TABLE {table} DROP CONSTRAINT {table}_{parent}_same_tenant" for table, parent in CHILDREN]
    return same + [f"ALTER TABLE {table} DROP CONSTRAINT {table}_in_tenant" for table in PARENTS]


class Migration(migrations.Migration):
    dependencies = [("people", "0001_people")]

    operations = [migrations.RunSQL(forward(), backward())]
