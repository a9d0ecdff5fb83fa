"""Which database role may do what to which table: one list, applied after each migration and tested against the
catalog.

The application connects as `app`. That it cannot update or delete entries is the wall; the triggers are the message;
the tree is the evidence. Tables that are not listed are ordinary rows and projections.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connections, transaction

APP, ERASE = "app", "erase"
ORDINARY = ("SELECT", "INSERT", "UPDATE", "DELETE")

APP_MAY: dict[str, tuple[str, ...]] = {
    "audit_head": ("SELECT", "INSERT", "UPDATE"),
    "audit_entry": ("SELECT", "INSERT"),
    "audit_payload": ("SELECT", "INSERT"),
    "audit_receipt": ("SELECT", "INSERT"),
    "audit_keyedlog": ("SELECT", "INSERT"),
    "audit_glog": ("SELECT", "INSERT"),
    "audit_gstate": ("SELECT", "INSERT", "UPDATE"),
    "audit_place": ("SELECT", "INSERT", "UPDATE"),
    "audit_tile": ("SELECT", "INSERT"),
    "audit_signedhead": ("SELECT", "INSERT"),
    "audit_cosignature": ("SELECT", "INSERT"),
    "audit_timestamp": ("SELECT", "INSERT"),
    "audit_gap": ("SELECT", "INSERT"),
    "audit_subjectkey": ("SELECT", "INSERT"),
    "audit_blindkey": ("SELECT", "INSERT"),
    "agent_sessions_agentdefinition": ("SELECT", "INSERT"),
    "agent_sessions_triggerversion": ("SELECT", "INSERT"),
    "agent_sessions_teamruleversion": ("SELECT", "INSERT"),
    "agent_sessions_noticeruleversion": ("SELECT", "INSERT"),
    "agent_sessions_accessline": ("SELECT", "INSERT"),
    "agent_sessions_recordedstate": ("SELECT", "INSERT", "DELETE"),
    "agent_sessions_stop": ("SELECT", "INSERT", "UPDATE"),
    "agent_sessions_proposal": ("SELECT", "INSERT", "UPDATE"),
    "agent_sessions_proposalanswer": ("SELECT", "INSERT"),
    "django_migrations": ("SELECT",),
}

ERASE_MAY: dict[str, tuple[str, ...]] = {
    "audit_head": ("SELECT",),
    "audit_entry": ("SELECT",),
    "audit_payload": ("SELECT", "DELETE"),
    "audit_subjectkey": ("SELECT", "UPDATE"),
    "audit_blindkey": ("SELECT", "UPDATE"),  # to wrap it anew; the application can neither destroy nor exchange a key
}


def apply(**_: Any) -> None:
    """Give every table of the schema exactly these privileges. Runs as the owner, after `migrate`; idempotent."""
    if settings.DATABASES[settings.MIGRATION_DATABASE]["USER"] == settings.DATABASES["default"]["USER"]:
        return  # an outside server without an owner's URL: nobody to take rights from, and the start says so
    # At once: programs that run already must not meet a table between what is taken and what is given.
    with (
        transaction.atomic(using=settings.MIGRATION_DATABASE),
        connections[settings.MIGRATION_DATABASE].cursor() as cursor,
    ):
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        for (table,) in cursor.fetchall():
            for role, wanted in ((APP, APP_MAY.get(table, ORDINARY)), (ERASE, ERASE_MAY.get(table, ()))):
                cursor.execute(f'REVOKE ALL ON "{table}" FROM {role}')
                if wanted:
                    cursor.execute(f'GRANT {", ".join(wanted)} ON "{table}" TO {role}')
        cursor.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {APP}")
