"""`python -m agentstate.serving`: Daphne's command line, serving with our classes for connections."""

from __future__ import annotations

from typing import Any

from daphne.cli import CommandLineInterface
from daphne.server import Server


class BoundedServer(Server):
    """Daphne's server, whose connections are bounded."""

    def __init__(self, **options: Any) -> None:
        super().__init__(ready_callable=self._bound, **options)

    def _bound(self) -> None:
        """Called when the factories are made and nobody is served yet."""
        from django.conf import settings

        from agentstate.serving import channel, sockets  # they need Django's settings, which the application loads

        heads: channel.Heads[channel.Channel] = channel.Heads(channel.HEADS_PER_ADDRESS)
        self.http_factory.protocol = channel.bounded(heads, settings.TRUSTED_PROXIES)
        self.ws_factory.protocol = sockets.Socket


class Serving(CommandLineInterface):
    """Daphne's command line for that server."""

    server_class = BoundedServer


if __name__ == "__main__":
    Serving.entrypoint()
