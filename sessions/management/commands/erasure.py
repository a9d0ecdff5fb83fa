"""`manage.py erasure`: ask for the erasure of a data subject, approve it as somebody else, see how far it is, go on.

Whoever acts is named with `--as`, and needs the permission: at the machine too, four eyes are those of two people.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from agentstate.people.management.at_the_machine import PeopleCommand
from agentstate.people.queries import person
from audit.erasure import BASES, State
from sessions.privacy import commands, erasure, subject_report
from sessions.privacy import queries as privacy

RULINGS = {"approve": State.APPROVED, "refuse": State.REFUSED, "withdraw": State.WITHDRAWN}


class Command(PeopleCommand):
    help = "Erase a data subject: request, approve, refuse, withdraw, show, run; report: everything held about one."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        request = acts.add_parser("request", help="ask for an erasure")
        _subject(request)
        request.add_argument("--basis", required=True, choices=list(BASES))
        request.add_argument("--reason", required=True)
        for name in RULINGS:
            ruling = acts.add_parser(name, help=f"{name} a request")
            ruling.add_argument("request", type=UUID)
            ruling.add_argument("--as", dest="user", required=True, metavar="USER")
        show = acts.add_parser("show", help="the requests, and how far they are")
        show.add_argument("--as", dest="user", required=True, metavar="USER")
        _subject(acts.add_parser("report", help="everything held about a data subject, as JSON; it is on record"))
        acts.add_parser("run", help="go on with what was approved, as the task does every five seconds")

    def handle(self, *_: Any, act: str, **options: Any) -> None:
        if act == "run":
            self.stdout.write(f"{erasure.carry_out_due()} erasures finished")
            return
        user = person(options["user"])
        if act == "show":
            for each in privacy.erasures(user):
                self.stdout.write(f"{each.id}  {each.state:<9} {each.basis:<18} key {each.subject}")
        elif act == "report":
            found = subject_report.made(user, customer=options["customer"], session=options["session"])
            self.stdout.write(json.dumps(found, indent=1, ensure_ascii=False))
        elif act == "request":
            named = {name: options[name] for name in ("customer", "session", "basis", "reason")}
            self.stdout.write(str(commands.ask_erasure(user, **named).pk))
        else:
            ruled = commands.rule_erasure(user, options["request"], RULINGS[act])
            self.stdout.write(f"{ruled.pk} is {ruled.state}.")


def _subject(parser: CommandParser) -> None:
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--customer", default="", help="the reference of the customer")
    who.add_argument("--session", type=UUID, help="a session of theirs")
    parser.add_argument("--as", dest="user", required=True, metavar="USER")
