"""The raw limit of a live page: a Channels consumer that forwards a group's messages and does nothing else."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentstate.settings")
django.setup()

from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402 - needs the apps
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.urls import path  # noqa: E402

GROUP = "bench.bare"


class Bare(AsyncWebsocketConsumer):
    """Joins one group on connecting."""

    async def connect(self) -> None:
        await self.channel_layer.group_add(GROUP, self.channel_name)
        await self.accept()

    async def bench_message(self, message: dict[str, str]) -> None:
        """One message of the group, as it is."""
        await self.send(text_data=message["text"])


application = ProtocolTypeRouter({"websocket": URLRouter([path("bare/", Bare.as_asgi())])})
