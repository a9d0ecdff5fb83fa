"""An application for tests of `agentstate.serving`: it answers each request, `/slow` after a while, and echoes frames.

The environment variable BOUNDS sets constants of agentstate.serving.channel, so that nobody waits ten seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentstate.settings")
django.setup()

from agentstate.serving import channel  # noqa: E402 - needs Django

for name, value in json.loads(os.environ.get("BOUNDS", "{}")).items():
    assert hasattr(channel, name), name
    setattr(channel, name, value)
SLOW = 3.0  # seconds


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the length of the body."""
    if scope["type"] == "websocket":
        await _echo(receive, send)
        return
    length, more = 0, True
    while more:
        message = await receive()
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    if scope["path"] == "/slow":
        await asyncio.sleep(SLOW)
    body = f"{length} bytes".encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _echo(receive: Any, send: Any) -> None:
    while (message := await receive())["type"] != "websocket.disconnect":
        if message["type"] == "websocket.connect":
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "websocket.send", "text": message["text"]})
