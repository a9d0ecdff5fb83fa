"""`manage.py retention`: for how long the words of closed sessions are kept, and what the next run would delete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from django.core.management.base import CommandError, CommandParser

from agentstate.people.management.at_the_machine import PeopleCommand
from agentstate.people.queries import person, the_tenant
from audit import retention
from sessions.privacy import commands, pruning


class Command(PeopleCommand):
    help = "Show or set the retention schedule (a JSON file with classes and rules), dry-run the pruning, or do it."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("show", help="the schedule in force, as JSON")
        put = acts.add_parser("set", help="set classes and rules anew")
        put.add_argument("file", type=Path)
        put.add_argument("--as", dest="user", required=True, metavar="USER")
        acts.add_parser("dry-run", help="what the next run deletes")
        acts.add_parser("run", help="prune, as the daily task does")

    def handle(self, *_: Any, act: str, **options: Any) -> None:
        tenant = the_tenant().pk
        if act == "set":
            try:
                wanted = commands.schedule_of(msgspec.json.decode(options["file"].read_bytes()))
            except (OSError, msgspec.DecodeError) as error:
                raise CommandError(f"{options['file']}: {error}") from None
            proposal = commands.set_retention(person(options["user"]), wanted)
            if proposal is not None:
                self.stderr.write(f"It waits for the teams that it concerns, as proposal {proposal.pk}.")
        elif act == "run":
            self.stdout.write(f"{pruning.prune_due(tenant)} sessions pruned")
            return
        elif act == "dry-run":
            self._dry_run(pruning.due(tenant))
            return
        self.stdout.write(msgspec.json.format(msgspec.json.encode(retention.schedule(tenant))).decode())

    def _dry_run(self, due: list[pruning.Due]) -> None:
        for each in due:
            kept = "  kept by a legal hold" if each.held else "  left out: others' data in it" if each.others else ""
            since = f"ended {each.ended_at:%Y-%m-%d}" if each.ended_at else f"goes on, its first {each.upto} entries"
            self.stdout.write(f"{each.session}  {each.retention}  {since}  {each.payloads} payloads{kept}")
        going = [each for each in due if each.goes]
        self.stdout.write(f"{sum(each.payloads for each in going)} payloads of {len(going)} sessions would go")
