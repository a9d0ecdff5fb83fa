"""Is the right key-encryption key here? Asked before anything is served, because without it nothing can be read."""

from __future__ import annotations

import sys
from uuid import UUID

from django.db import OperationalError, connection

from audit.keys.blind import blind_key
from audit.keys.encryption import Wrapped
from audit.keys.errors import BadKeyFile
from audit.keys.wrapping import make_if_first, unwrap

# One wrapped key of each key-encryption key in use, and what it is bound to.
SAMPLES = (
    "(SELECT DISTINCT ON (kek_ref) kek_ref, wrapped, kid FROM audit_subjectkey WHERE wrapped IS NOT NULL"
    " ORDER BY kek_ref) UNION ALL SELECT kek_ref, wrapped, tenant FROM audit_blindkey"
)


def check() -> None:
    """Open one key of each key-encryption key in use. Raises BadKeyFile, whose one line says what to do.

    Where the database holds no key yet, the first key-encryption key is made.
    """
    if not _tables_are_open():
        return  # the very first start: programs load while the tables are made
    make_if_first()
    with connection.cursor() as cursor:
        cursor.execute(SAMPLES)
        for ref, data, bound_to in cursor.fetchall():
            unwrap(Wrapped(ref, bytes(data)), bound_to.bytes)


def make_for(tenants: list[UUID]) -> None:
    """The blind-index keys, before several processes would make them at once."""
    for tenant in tenants:
        blind_key(tenant)


def check_or_leave() -> None:
    """`check` for a process that starts: it ends with one line instead of serving what it cannot read."""
    try:
        check()
    except BadKeyFile as error:
        sys.exit(str(error))
    except OperationalError:
        return  # the database is away, which says nothing of keys: whatever is read under a wrong one is refused then
    finally:
        connection.close()


def _tables_are_open() -> bool:
    """Whether the tables of keys are there and we may read them; of a table that is not there PostgreSQL says NULL."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT has_table_privilege(to_regclass('public.audit_blindkey'), 'SELECT')"
            " AND has_table_privilege(to_regclass('public.audit_subjectkey'), 'SELECT')"
        )
        return bool(cursor.fetchone()[0])
