"""`manage.py dry_run_policy POLICY --days 7`: what would have stopped, had this policy been in force.

Nothing is written but that somebody looked.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentstate.clock import now
from agentstate.engine import policy as pol
from agentstate.errors import AgentStateError
from agentstate.people.models import Tenant
from audit import ledger, staff
from sessions.library import policies
from sessions.policies.dry_runs import DryRun, as_operator


class Command(BaseCommand):
    """Judge recorded calls by another policy."""

    help = "What a policy would have said of the calls of a time, each with the state as it was then."

    def add_arguments(self, parser: CommandParser) -> None:
        """The policy and the time."""
        parser.add_argument("policy", help="a name, a name@version, or a file")
        parser.add_argument("--days", type=int, default=7, help="how far back; without --since")
        parser.add_argument("--since", type=datetime.fromisoformat, help="an instant with its time zone")
        parser.add_argument("--until", type=datetime.fromisoformat, help="an instant with its time zone; now")
        parser.add_argument("--agent", default="", help="only this agent's sessions")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the calls of which something else would be said, and the counts."""
        since = options["since"] or now() - timedelta(days=options["days"])
        try:
            policy = _policy(options["policy"])
            if since.tzinfo is None or (options["until"] is not None and options["until"].tzinfo is None):
                raise CommandError("want instants with their time zone")
            found = as_operator(policy, since, options["until"], options["agent"])
        except (AgentStateError, OSError) as error:
            raise CommandError(str(error)) from None
        facts = {"policy": found.policy, "sessions": found.sessions, "since": since.isoformat()}
        for tenant in Tenant.objects.values_list("pk", flat=True):
            staff.record(tenant, now(), "policy.dry_run", ledger.SYSTEM, "", facts)
        self._tell(found)

    def _tell(self, found: DryRun) -> None:
        for call in found.calls:
            if call.move != "same" and call.found.would is not None:
                was, would = call.found.was, call.found.would
                self.stdout.write(
                    f"{call.session} {call.found.seq} {call.found.tool}: {call.move};"
                    f" {was.gate} at tier {was.tier} by {was.rule} -> {would.gate} at tier {would.tier} by {would.rule}"
                )
        counts = ", ".join(f"{count} {move}" for move, count in found.counts.items() if count)
        self.stdout.write(f"{found.policy}: {found.judged} calls in {found.sessions} sessions: {counts or 'none'}")
        for left in found.left_out:
            self.stdout.write(f"left out: {left.sessions} sessions, {left.why}")


def _policy(wanted: str) -> pol.Policy:
    if not wanted.endswith(".json"):
        return policies.named(wanted)
    return pol.load(Path(wanted).read_bytes())
