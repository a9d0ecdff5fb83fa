"""Keys into the database and out of it, wrapped by whatever the settings name.

The first key-encryption key is made when the first key is to be wrapped, and never again: where the database holds
wrapped keys, a missing one is refused, because a new one would open none of them.
"""

from __future__ import annotations

from django.db import connection

from audit.keys.encryption import Wrapped, provider
from audit.keys.errors import BadKeyFile

IN_USE = (
    "SELECT DISTINCT kek_ref FROM audit_subjectkey WHERE wrapped IS NOT NULL"
    " UNION SELECT kek_ref FROM audit_blindkey ORDER BY 1"
)


def wrap(key: bytes, context: bytes) -> Wrapped:
    """`key`, bound to `context` (the id of what it is for). Raises BadKeyFile."""
    make_if_first()
    return provider().wrap(key, context)


def unwrap(wrapped: Wrapped, context: bytes) -> bytes:
    """The inverse of `wrap`. Raises BadKeyFile."""
    return provider().unwrap(wrapped, context)


def make_if_first() -> None:
    """Make the key-encryption key of a database that holds no key yet. Raises BadKeyFile when it is lost."""
    kept = provider()
    if kept.current() is not None:
        return
    if used := in_use():
        raise BadKeyFile(
            f"{kept.place} is missing, and the database's keys are wrapped by {', '.join(used)}:"
            " put it back from its backup. Without it nothing that was said can be read."
        )
    kept.make()


def in_use() -> list[str]:
    """The names of the key-encryption keys that the database's keys are wrapped by."""
    with connection.cursor() as cursor:
        cursor.execute(IN_USE)
        return [ref for (ref,) in cursor.fetchall()]
