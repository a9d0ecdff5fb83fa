"""`manage.py dismiss-report`: an operator ends the alarm about a decision that nobody signs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentstate.clock import now
from agentstate.errors import AgentStateError
from audit import ledger, signer, staff
from audit.management.commands.sequence import tenant
from audit.signing.reports import WAITS


class Command(BaseCommand):
    """Only whoever reaches the signer's socket can end the alarm: not who owns the database."""

    help = (
        "End the alarm `decision_unsigned` for a log, once you know what became of the decision."
        " The staff log keeps it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("log", type=UUID, help="the log that the alarm names")
        parser.add_argument("--reason", required=True, help="what became of the decision; kept in the staff log")

    def handle(self, *_args: Any, **options: Any) -> None:
        of, log, reason = tenant(), options["log"], options["reason"].strip()
        if of is None:
            raise CommandError("there is no log yet: run migrate first")
        if not reason:
            raise CommandError("say what became of the decision: --reason")
        try:
            sizes = [each.size for each in signer.known().reported if each.log == log and each.seconds > WAITS]
            if not sizes:
                raise CommandError(f"no reported decision of log {log} has waited for {WAITS:.0f} s")
            for size in sizes:
                facts = {"log": str(log), "size": size, "reason": reason}
                staff.record(of, now(), "report.dismissed", ledger.SYSTEM, "", facts)
                signer.dismiss(log, size)
        except AgentStateError as error:
            raise CommandError(f"{error} {error.remedy}".strip()) from None
        self.stdout.write(f"dismissed: log {log}, {', '.join(f'{size} entries' for size in sizes)}")
