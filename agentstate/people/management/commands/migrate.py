"""Django's `migrate`, run as the owner of the tables: the application's own role may not change them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate


class Command(migrate.Command):
    """`manage.py migrate`, with the owner's alias as the default database."""

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=settings.MIGRATION_DATABASE)
