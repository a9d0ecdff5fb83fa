"""`manage.py check_tools`: read every description again, find every secret, ask every MCP server."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions.models.tools import OfferedTool
from sessions.outside import secrets
from sessions.tools import registry
from sessions.tools.http import calls
from sessions.tools.http.description import BadTool
from sessions.tools.mcp import offers, servers


class Command(BaseCommand):
    """Says what is wrong with the tools of this installation, and fails if anything is."""

    help = "Check the tools: descriptions, secrets, and what MCP servers offer."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--offline` leaves the servers alone."""
        parser.add_argument("--offline", action="store_true", help="do not ask the MCP servers")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each tool and server."""
        wrong = [*self._descriptions(), *self._secrets()]
        for name, server in servers.every().items():
            problem = "" if options["offline"] else offers.look(server)
            waiting = OfferedTool.objects.filter(server=name, current=True, answer=OfferedTool.Answer.WAITING).count()
            self.stdout.write(f"server {name}: {problem or 'sound'}; {waiting} to answer")
            wrong += [f"server {name}: {problem}"] if problem else []
        for tool in filter(None, map(registry.find, registry.names())):
            self.stdout.write(f"tool {tool.name}@{tool.version}: {tool.effect}, {tool.source}")
        if wrong:
            raise CommandError("\n".join(wrong))

    def _descriptions(self) -> list[str]:
        wrong = []
        for folder in calls.folders():
            for file in sorted(folder.glob("*.json")):
                try:
                    calls.read(file)
                except BadTool as error:
                    wrong.append(error.detail)
        return wrong

    def _secrets(self) -> list[str]:
        wanted = {name: tool.name for tool in map(registry.find, registry.names()) if tool for name in tool.secrets}
        wanted |= {name: server.name for server in servers.every().values() for name in server.secrets}
        return [
            f"{user}: the secret {name} cannot be read" for name, user in wanted.items() if not secrets.is_there(name)
        ]
