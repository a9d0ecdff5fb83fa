"""Which database role may do what to which table: one list, applied after each migration and tested against the
catalog.

The application connects as a role that does not own the tables. That it cannot update or delete entries is the wall;
the triggers are the message; the tree is the evidence. Tables that are not listed are ordinary rows and projections.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connections, transaction
from psycopg import sql

from agentstate.database_roles import database_roles

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
    "audit_alteration": ("SELECT", "INSERT", "UPDATE"),
    "audit_scrub": ("SELECT", "INSERT", "UPDATE"),
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
    "agent_sessions_libraryversion": ("SELECT", "INSERT"),
    "django_migrations": ("SELECT",),
}

ERASE_MAY: dict[str, tuple[str, ...]] = {
    "audit_head": ("SELECT",),
    "audit_entry": ("SELECT",),
    "audit_payload": ("SELECT", "DELETE"),
    "audit_subjectkey": ("SELECT", "UPDATE"),
    "audit_blindkey": ("SELECT", "UPDATE"),  # to wrap it anew; the application can neither destroy nor exchange a key
}


# As in the migration that made it, for the erasing role of this installation.
PAYLOAD_GUARD = """
CREATE OR REPLACE FUNCTION audit_payload_is_append_only() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
BEGIN
  IF TG_OP = 'DELETE' AND current_user = {erase} THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'audit_payload is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
"""


def apply(**_: Any) -> None:
    """Give every table of the schema exactly these privileges. Runs as the owner, after `migrate`; idempotent.

    From the owner nothing can be taken: where it also serves or erases, `database_roles` says so at every start.
    """
    roles = database_roles()
    may = [(roles.app, APP_MAY, ORDINARY), (roles.erase, ERASE_MAY, ())]
    # At once: programs that run already must not meet a table between what is taken and what is given.
    with (
        transaction.atomic(using=settings.MIGRATION_DATABASE),
        connections[settings.MIGRATION_DATABASE].cursor() as cursor,
    ):
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        tables = [table for (table,) in cursor.fetchall()]
        for guest in dict.fromkeys((roles.app, roles.erase)):
            if guest == roles.owner:
                continue
            for table in tables:
                lists = [mays.get(table, usual) for role, mays, usual in may if role == guest]
                wanted = dict.fromkeys(right for rights in lists for right in rights)
                names = sql.Identifier(table), sql.Identifier(guest)
                cursor.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(*names))
                if wanted:
                    cursor.execute(sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(", ".join(wanted)), *names))
        if roles.app != roles.owner:
            usage = sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {}")
            cursor.execute(usage.format(sql.Identifier(roles.app)))
        if "audit_payload" in tables:
            cursor.execute(sql.SQL(PAYLOAD_GUARD).format(erase=sql.Literal(roles.erase)))
