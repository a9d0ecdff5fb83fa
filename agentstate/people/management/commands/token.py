"""`manage.py token USER`: a new API token of USER. Prints the token and nothing else on stdout."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from agentstate.people.commands import issue_token
from agentstate.people.management.at_the_machine import PeopleCommand
from agentstate.people.queries import person


class Command(PeopleCommand):
    help = "Make an API token for a user and print it. It is shown once; only its digest is kept."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user")
        parser.add_argument("--name", default="command line", help="what the token is for")

    def handle(self, *_: Any, **options: Any) -> None:
        self.stdout.write(issue_token(person(options["user"]), options["name"][:100], None))
