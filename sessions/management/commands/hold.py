"""`manage.py hold`: set, lift and list legal holds."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from agentstate.people.management.at_the_machine import PeopleCommand
from agentstate.people.queries import person
from sessions.privacy import commands
from sessions.privacy import queries as privacy


class Command(PeopleCommand):
    help = "Keep a data subject, or one session, from erasure and pruning."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        put = acts.add_parser("set", help="set a hold")
        who = put.add_mutually_exclusive_group(required=True)
        who.add_argument("--customer", default="", help="the reference of the customer")
        who.add_argument("--session", type=UUID, help="a session of theirs")
        put.add_argument("--only-session", action="store_true", help="nothing but that session")
        put.add_argument("--reason", required=True)
        put.add_argument("--until", default="", help="e.g. 2027-01-31T00:00:00.000000Z; else until it is lifted")
        lift = acts.add_parser("lift", help="end a hold")
        lift.add_argument("hold", type=UUID)
        for parser_of in (put, lift, acts.add_parser("show", help="the holds in force")):
            parser_of.add_argument("--as", dest="user", required=True, metavar="USER")

    def handle(self, *_: Any, act: str, **options: Any) -> None:
        user = person(options["user"])
        if act == "set":
            hold = commands.set_hold(
                user,
                customer=options["customer"],
                session=options["session"],
                whole=not options["only_session"],
                reason=options["reason"],
                until=commands.instant_of(options["until"], "until"),
            )
            self.stdout.write(str(hold.pk))
        elif act == "lift":
            self.stdout.write(f"{commands.lift_hold(user, options['hold']).pk} is lifted.")
        else:
            for each in privacy.all_holds(user):
                if each.in_force:
                    what = f"session {each.session}" if each.session else f"key {each.subject}"
                    self.stdout.write(f"{each.id}  {what}  until {each.until or 'lifted'}")
