"""The two rows every installation starts with: its one tenant and a first team. Made after each `migrate`.

Not a data migration, because a test that empties the tables gets its rows back only through `post_migrate`.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps as installed
from django.apps.registry import Apps

TENANT_NAME = "This installation"
TEAM_SLUG = "service"
TEAM_NAME = "Customer service"


def make(*, using: str, apps: Apps = installed, **_: Any) -> None:
    """Create tenant and team if there is no tenant yet; a team somebody renamed or removed is left alone."""
    try:
        tenants = apps.get_model("people", "Tenant").objects.using(using)
        teams = apps.get_model("people", "Team").objects.using(using)
    except LookupError:  # migrated back to zero: there is no table to fill
        return
    if not tenants.exists():
        tenant = tenants.create(name=TENANT_NAME)
        teams.create(tenant=tenant, slug=TEAM_SLUG, name=TEAM_NAME)
