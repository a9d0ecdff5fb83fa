"""`manage.py replay SESSION [--policy FILE] [--assume ...] [--model]`: what would have happened. Nothing is written.

With --model the agent's model, as the settings name it now, is asked for real; no tool is run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentstate.engine import policy as pol
from agentstate.engine.decide import CommandContext
from agentstate.engine.versions.replay import Assume, replay
from agentstate.engine.versions.rerun import rerun
from agentstate.errors import AgentStateError
from sessions.agents import registry
from sessions.core import states
from sessions.runtime.execution import ask_model
from sessions.versions.replays import context_under, history, said_of


class Command(BaseCommand):
    """Go through a session again, under another policy or with another model."""

    help = "What would have happened to a session under another policy, or with the model that the settings name now."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("session", type=UUID)
        parser.add_argument("--policy", type=Path, help="a policy's document; without it, the one in force")
        parser.add_argument("--assume", choices=get_args(Assume), default="approve", help="what people would decide")
        parser.add_argument("--model", action="store_true", help="ask the model for real; what it says is printed")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            policy = pol.load(options["policy"].read_bytes()) if options["policy"] else None
            loaded = states.load(options["session"])
        except (AgentStateError, OSError) as error:
            raise CommandError(str(error)) from None
        agent = loaded.state.opened.agent if loaded.state.opened else ""
        entries = history(options["session"], loaded.head.size)
        context = context_under(agent, policy)
        if options["model"]:
            self._with_model(agent, entries, context, options["assume"])
            return
        found = replay(entries, context, (), options["assume"])
        differing = [call for call in found.calls if call.differs]
        for call in differing:
            self.stdout.write(said_of(call))
        self.stdout.write(f"{len(found.calls)} calls, {len(differing)} would have gone otherwise")

    def _with_model(self, agent: str, entries: Any, context: Callable[[str], CommandContext], assume: Assume) -> None:
        found = rerun(
            entries,
            context,
            lambda state, step: ask_model(registry.find(agent), state, step),
            assume,
        )
        for text in found.said:
            self.stdout.write(f"Agent: {text}")
        for call in found.calls:
            known = "" if call.known else " (the record does not know its result)"
            self.stdout.write(f"{call.tool}: {call.gate.kind}, {call.status}{known}")
        self.stdout.write(f"{found.requests} requests to the model" + ("" if found.whole else ", and then stopped"))
