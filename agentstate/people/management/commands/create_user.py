"""`manage.py create_user USERNAME --role ROLE`: a new account with one role in one team, or in every team."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from agentstate.people import commands
from agentstate.people.management.at_the_machine import PeopleCommand, read_password
from agentstate.people.models import Team
from agentstate.people.queries import team, the_tenant
from agentstate.people.roles import Role


class Command(PeopleCommand):
    help = "Create a user. Asks for the password, or reads it from a file; weak ones are refused."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--role", required=True, choices=[role.value for role in Role])
        parser.add_argument("--team", help="slug of the team; without it, every team there is")
        parser.add_argument("--display-name", default="")
        parser.add_argument("--password-file", metavar="FILE", help="its first line is the password")

    def handle(self, *_: Any, **options: Any) -> None:
        role = Role(options["role"])
        teams = [team(options["team"])] if options["team"] else list(Team.objects.order_by("slug"))
        password = read_password(options["password_file"])
        with transaction.atomic():
            user = commands.create_user(
                tenant=the_tenant(),
                username=options["username"],
                display_name=options["display_name"],
                password=password,
                by=None,
            )
            for each in teams:
                commands.grant_role(user, each, role, None)
        self.stdout.write(f"{user.username} is {role.value} in {', '.join(each.slug for each in teams)}.")
