"""`manage.py library`: which policies, charts, state schemas, talks, profiles and prices are in force.

`up` runs it with `--record`.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions.library import in_force
from sessions.library.folders import BadLibrary
from sessions.releases import commands, queries


class Command(BaseCommand):
    """Lists what is in force, or compares it with the folders."""

    help = "List what is in force of the library. With --record, put new names in force and propose what changed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to compare."""
        parser.add_argument("--record", action="store_true", help="put new names in force, propose what changed")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each name, or with --record for each change that waits."""
        if options["record"]:
            try:
                self.stdout.writelines(f"{line}\n" for line in commands.record() if not line.startswith("in force"))
            except BadLibrary as error:
                raise CommandError(error.detail) from None
            return
        for held in in_force.newest().values():
            versions = ", ".join(queries.versions_of(held)) or "-"
            origin = f"proposal {held.proposal}" if held.proposal else held.origin
            self.stdout.write(f"{held.kind} {held.name}: versions {versions}, digest {held.digest[:12]}, {origin}")
