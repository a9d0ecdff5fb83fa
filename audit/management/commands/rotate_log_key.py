"""`manage.py rotate-log-key`: a new log key, introduced by the old one in the global log."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentstate.errors import AgentStateError
from audit import rotation
from audit.management.commands.sequence import tenant


class Command(BaseCommand):
    """May be interrupted and run again: it goes on with the key that was announced."""

    help = "Give the log a new key. The old one introduces it in the global log, and signs beside it for a while."

    def handle(self, *_args: Any, **_options: Any) -> None:
        of = tenant()
        if of is None:
            raise CommandError("there is no log yet: run migrate first")
        try:
            old, new = rotation.rotate(of)
        except AgentStateError as error:
            raise CommandError(f"{error} {error.remedy}".strip()) from None
        self.stdout.write(f"old key {old}\nnew key {new}")
