"""`manage.py migrate_state AGENT`: carry the states of an agent's open sessions to a version of their schema.

1. The sessions that have not ended are read, oldest first.
2. Without `--apply` or `--reverse` each state is tried in memory, and the report says how many would be carried, how
   many of those could not be brought back the same, and why the others would stay. Nothing is written.
3. With `--apply` each is carried by an entry of its own, to the newest version or to `--to`.
4. With `--reverse` each is carried back to `--to` and held there, so that the newest version does not come by itself.

A session that is worked on meanwhile is waited for; one that cannot be carried is named, and stays as it is.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from agentstate.engine.decide.commands.scratchpad import Migrate
from agentstate.engine.migrating import CannotMigrate, Catalogue
from agentstate.engine.migrating.report import Report, tried
from agentstate.errors import Invalid, Refused
from audit import keys, ledger
from sessions.agents import registry
from sessions.core.commit import person_command
from sessions.core.committed import Author
from sessions.models.sessions import AgentSession
from sessions.state_schemas.queries import stored


class Command(BaseCommand):
    help = "Carry the states of an agent's open sessions to another version of their schema (a dry run, unless told)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", help="the agent's name, e.g. bank")
        parser.add_argument("--to", type=int, default=0, help="the version; without it, the newest")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--dry-run", action="store_true", help="say what would happen (this is what happens anyway)")
        how.add_argument("--apply", action="store_true", help="carry them")
        how.add_argument("--reverse", action="store_true", help="carry them back to --to, and hold them there")

    def handle(self, *args: Any, agent: str, to: int, apply: bool, reverse: bool, **options: Any) -> None:
        catalogue = _catalogue(agent)
        if reverse and not to:
            raise CommandError("say how far back, with --to")
        version = to or catalogue.current.version
        sessions = list(
            AgentSession.objects.filter(agent=agent, ended_at__isnull=True)
            .order_by("opened_at")
            .values_list("pk", flat=True)
        )
        if not (apply or reverse):
            self._tell(_tried(catalogue, version, sessions))
            return
        self._carry(sessions, Migrate(version, ledger.SYSTEM, hold=reverse))

    def _tell(self, report: Report) -> None:
        self.stdout.write(
            f"{report.states} open sessions; {report.there} are of {report.schema}@{report.to},"
            f" {report.carried} would be carried ({report.lossy} could not be brought back the same),"
            f" {report.stuck} would stay"
        )
        for fault in report.blocked:
            self.stdout.write(f"  {fault.id} from {fault.version}: {fault.path}: {fault.rule}")

    def _carry(self, sessions: list[UUID], command: Migrate) -> None:
        carried, stuck = 0, 0
        for session in sessions:
            try:
                carried += bool(person_command(session, command, Author(ledger.SYSTEM)).events)
            except (Refused, keys.Erased) as refusal:
                stuck += 1
                self.stdout.write(f"  {session}: {refusal}")
        self.stdout.write(f"{carried} carried, {len(sessions) - carried - stuck} were there, {stuck} stay as they are")


def _catalogue(agent: str) -> Catalogue:
    try:
        found = registry.schemas_for(registry.find(agent).schema)
    except Invalid as error:
        raise CommandError(str(error)) from None
    if found is None:
        raise CommandError(f"nothing is declared for the states of {agent!r}")
    return found


def _tried(catalogue: Catalogue, version: int, sessions: list[UUID]) -> Report:
    try:
        return tried(catalogue, version, stored(sessions))
    except CannotMigrate as error:
        raise CommandError(str(error)) from None
