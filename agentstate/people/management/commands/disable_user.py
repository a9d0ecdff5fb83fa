"""`manage.py disable_user USER`: end every way in for USER at once. `--undo` lets them sign in again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from agentstate.people.commands import disable, enable
from agentstate.people.management.at_the_machine import PeopleCommand
from agentstate.people.queries import person


class Command(PeopleCommand):
    help = "Disable a user: browser sessions, tokens, sign-in links and open sockets end at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user")
        parser.add_argument("--undo", action="store_true", help="let them sign in again; tokens stay revoked")

    def handle(self, *_: Any, **options: Any) -> None:
        user = person(options["user"])
        (enable if options["undo"] else disable)(user, None)
        self.stdout.write(f"{user.username} is {'enabled' if options['undo'] else 'disabled'}.")
