"""The PostgreSQL roles that this installation's URLs name, and what it costs when two of them are one."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass

from django.conf import settings


@dataclass(frozen=True, slots=True)
class DatabaseRoles:
    """`app` serves, `owner` owns the tables and migrates, `erase` deletes payloads and destroys keys."""

    app: str
    owner: str
    erase: str

    @property
    def warnings(self) -> list[str]:
        """In plain words, what the database does not refuse here; empty where each role is its own."""
        if self.app == self.owner:
            return [
                "One database role owns everything. The database does not refuse the application when it changes or"
                " deletes what the ledger holds; only proofs would show it. Set DATABASE_OWNER_URL and"
                " DATABASE_ERASE_URL to roles of their own (docs/settings.md)."
            ]
        if self.erase in (self.app, self.owner):
            holder = "serves" if self.erase == self.app else "owns the tables"
            return [
                f"The database role that erases is the one that {holder}. Set DATABASE_ERASE_URL to a role of its own"
                " (docs/settings.md)."
            ]
        return []


def database_roles() -> DatabaseRoles:
    """The roles that the settings name; where a URL names none, the one that libpq takes."""
    usual = os.environ.get("PGUSER") or getpass.getuser()
    return DatabaseRoles(*(settings.DATABASES[alias]["USER"] or usual for alias in ("default", "owner", "erase")))
