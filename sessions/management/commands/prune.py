"""`manage.py prune AGENT`: remove from the states of an agent's open sessions what nothing reads any more.

What the schema in force names is kept, and what a rule, an expression or a reference reads. Without `--apply` the
paths are only told. A pruned value stays in the ledger's entries: the state forgets it, the history does not.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from agentstate.clock import now
from agentstate.engine.decide.commands.scratchpad import Prune
from agentstate.engine.decide.schema import unread
from agentstate.errors import Invalid, Refused
from audit import keys, ledger
from sessions.agents import registry
from sessions.core import states
from sessions.core.commit import person_command
from sessions.core.committed import Author
from sessions.models.sessions import AgentSession


class Command(BaseCommand):
    help = "Remove from the states of an agent's open sessions what nothing reads any more (a dry run, unless told)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", help="the agent's name, e.g. bank")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--dry-run", action="store_true", help="say what would go (this is what happens anyway)")
        how.add_argument("--apply", action="store_true", help="remove it")

    def handle(self, *args: Any, agent: str, apply: bool, **options: Any) -> None:
        sessions, paths = 0, 0
        for session, found in _found(agent):
            if apply and not self._pruned(session):
                continue
            sessions, paths = sessions + 1, paths + len(found)
            self.stdout.write(f"  {session}: {', '.join(found)}")
        self.stdout.write(f"{paths} paths in {sessions} sessions {'are gone' if apply else 'would go'}")

    def _pruned(self, session: UUID) -> bool:
        try:
            return bool(person_command(session, Prune(ledger.SYSTEM), Author(ledger.SYSTEM)).events)
        except (Refused, keys.Erased) as refusal:
            self.stdout.write(f"  {session}: {refusal}")
            return False


def _found(agent: str) -> Iterator[tuple[UUID, list[str]]]:
    """The open sessions that hold something which nothing reads, with its paths."""
    try:
        given = registry.context_for(agent, now())
    except Invalid as error:
        raise CommandError(str(error)) from None
    rows = AgentSession.objects.filter(agent=agent, ended_at__isnull=True).order_by("opened_at")
    for session in list(rows.values_list("pk", flat=True)):
        try:
            state = states.load(session).state
        except keys.Erased:
            continue
        paths = unread(state, given)
        if paths:
            yield session, paths
