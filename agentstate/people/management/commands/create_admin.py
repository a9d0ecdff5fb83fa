"""`manage.py create_admin USERNAME`: the first admin of an installation without demo accounts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from agentstate.people.management.commands import create_user
from agentstate.people.roles import Role


class Command(create_user.Command):
    help = "Create an admin of every team. Asks for the password, or reads it from a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--display-name", default="")
        parser.add_argument("--password-file", metavar="FILE", help="its first line is the password")

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options, role=Role.ADMIN.value, team=None)
