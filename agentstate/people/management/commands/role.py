"""`manage.py role USER ROLE --team TEAM`: give somebody a role in a team; `--remove` takes it away."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from agentstate.people.commands import grant_role, remove_role
from agentstate.people.management.at_the_machine import PeopleCommand
from agentstate.people.queries import person, team
from agentstate.people.roles import Role


class Command(PeopleCommand):
    help = "Give a user a role in a team, or take it away. It counts with their next request."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user")
        parser.add_argument("role", choices=[role.value for role in Role])
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--remove", action="store_true")

    def handle(self, *_: Any, **options: Any) -> None:
        change = remove_role if options["remove"] else grant_role
        user, where = person(options["user"]), team(options["team"])
        change(user, where, Role(options["role"]), None)
        verb = "is no longer" if options["remove"] else "is"
        self.stdout.write(f"{user.username} {verb} {options['role']} in {where.slug}.")
