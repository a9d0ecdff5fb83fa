"""`manage.py witness`: a witness of anybody's logs. The same as `python -m audit.witness`, which needs no Django."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentstate.errors import AgentStateError
from audit import witness
from audit.tlog.note import BadNote


class Command(BaseCommand):
    """Needs neither our database nor our state directory."""

    help = "Run a C2SP tlog-witness with a key and a memory of its own."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        witness.add_arguments(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            witness.run(options["dir"], options["name"], options["log"], options["listen"])
        except (AgentStateError, BadNote, OSError, ValueError) as error:
            raise CommandError(str(error)) from None
