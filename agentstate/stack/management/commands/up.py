"""`manage.py up`: everything, in the foreground, until Ctrl-C."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentstate.stack import running
from agentstate.stack.errors import Unstartable


class Command(BaseCommand):
    """Runs the servers, the web server, the worker and the clock."""

    help = "Start PostgreSQL, Valkey, the web server, the worker and the clock; stop them all on Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--demo", action="store_true", help="also a bank with customers who call")
        parser.add_argument("--port", type=int, help="of the web server; without it the first free one from 8000 on")
        parser.add_argument("--state-dir", metavar="DIR", help="where data, keys and logs are (default .state)")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            running.run(settings.STACK, options["port"], options["demo"], self._say)
        except Unstartable as error:
            raise CommandError(str(error)) from error

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
