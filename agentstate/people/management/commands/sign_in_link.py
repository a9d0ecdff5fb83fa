"""`manage.py sign_in_link USER`: a link that signs USER in once within ten minutes. Prints the link only."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.urls import reverse

from agentstate.people.commands import issue_sign_in_link
from agentstate.people.management.at_the_machine import PeopleCommand
from agentstate.people.queries import person


class Command(PeopleCommand):
    help = "Print a link that signs a user in once. Whoever opens it within ten minutes becomes that user."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user")
        parser.add_argument("--base", default="http://127.0.0.1:8000", metavar="URL", help="where the site is")

    def handle(self, *_: Any, **options: Any) -> None:
        secret = issue_sign_in_link(person(options["user"]))
        self.stdout.write(options["base"].rstrip("/") + reverse("people:by_link", args=[secret]))
