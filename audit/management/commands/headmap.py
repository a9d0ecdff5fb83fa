"""`manage.py headmap --check | --rebuild`: the head map that is kept, against the one that follows from the leaves."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentstate.errors import AgentStateError
from audit import rebuilding
from audit.management.commands.sequence import tenant


class Command(BaseCommand):
    """The map is a cache: what it must be follows from the heads in the global log."""

    help = "Compare the kept head map with the one that the leaves of the global log make, or make it anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        how = parser.add_mutually_exclusive_group(required=True)
        how.add_argument("--check", action="store_true", help="say whether they are equal; exit 1 if not")
        how.add_argument("--rebuild", action="store_true", help="put the one that follows in place of the kept one")

    def handle(self, *_args: Any, **options: Any) -> None:
        of = tenant()
        if of is None:
            raise CommandError("there is no log yet: run migrate first")
        try:
            found = rebuilding.rebuild(of) if options["rebuild"] else rebuilding.check(of)
        except AgentStateError as error:
            raise CommandError(f"{error} {error.remedy}".strip()) from None
        if found.differences:
            raise CommandError("\n".join(found.differences))
        self.stdout.write(f"head map of {found.count} logs at leaf {found.position}: as the leaves say")
