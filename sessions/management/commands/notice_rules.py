"""`manage.py notice_rules --take TEAM`: give a team the shipped rules of notifications that it lacks."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from agentstate.people.queries import team
from audit import ledger
from sessions.automation.notifications import repository as keeping
from sessions.models.notifications import NoticeRule


class Command(BaseCommand):
    """Lists the rules, or gives a team those that come with the product."""

    help = "List the rules of notifications, or give a team the shipped ones."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--take` names the team by its slug."""
        parser.add_argument("--take", metavar="TEAM", help="give this team the shipped rules that it lacks")

    def handle(self, *args: Any, **options: Any) -> None:
        """A line for each rule."""
        if options["take"]:
            chosen = team(options["take"])
            for name in keeping.take_shipped(chosen.tenant_id, chosen.pk, ledger.SYSTEM):
                self.stdout.write(f"{chosen.slug}: took {name}")
            return
        for row in NoticeRule.objects.select_related("team").order_by("team__slug", "name"):
            self.stdout.write(f"{row.team.slug}: {row.name}, version {row.version}, {'on' if row.on else 'off'}")
