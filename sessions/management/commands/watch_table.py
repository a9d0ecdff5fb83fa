"""`manage.py watch-table`: let changes of another application's table start and inform sessions."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentstate.people.management.at_the_machine import PeopleCommand
from agentstate.people.models import Team
from sessions.automation.triggers import installation
from sessions.models.triggers import Watch


class Command(PeopleCommand):
    help = "Watch a table of another application: install what notes its changes, or print it for the owner."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", default="", help="a name of your own, e.g. bank_flags; none: list them")
        parser.add_argument("--database", default="bank", help="bank, or the name of a secret with the libpq conninfo")
        parser.add_argument("--table", default="", help="schema.table")
        parser.add_argument("--team", default="", help="whose triggers may use it, by slug")
        parser.add_argument(
            "--key", action="append", default=[], help="a column that names the row; else the primary key"
        )
        parser.add_argument("--column", action="append", default=[], help="note updates of these columns only")
        parser.add_argument("--reader", default="", help="the role that polls, if another one installs")
        parser.add_argument("--print", action="store_true", dest="prints", help="print the SQL and change nothing")
        parser.add_argument("--installed", action="store_true", help="the owner has run it: only begin to poll")
        parser.add_argument("--remove", action="store_true", help="take the watch away")

    def handle(self, *_: Any, name: str, **options: Any) -> None:
        if not name:
            for row in Watch.objects.order_by("name"):
                self.stdout.write(
                    f"{row.name}\t{row.database}\t{row.table}\t{row.trouble or 'polled'}\t{row.lag} waiting"
                )
            return
        if options["remove"]:
            installation.remove(name)
            self.stdout.write(f"{name} is no longer watched.")
            return
        watched = installation.looked_up(
            name,
            options["database"],
            options["table"],
            keys=tuple(options["key"]),
            columns=tuple(options["column"]),
            reader=options["reader"],
        )
        if options["prints"]:
            self.stdout.write(installation.text_of(watched, options["database"]))
            return
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError("--team: there is no such team")
        row = installation.install(team, watched, options["database"], there_already=options["installed"])
        self.stdout.write(f"{row.name}: changes of {row.table} are noted ({', '.join(row.keys)}).")
