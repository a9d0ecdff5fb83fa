"""From an event committed to its frame received, against a bare channel-layer message received the same way.

Ours: `commands.say` in this process, the product's Daphne and consumer in another, a signed-in page's socket watching
the session. Bare: `group_send` in this process, another Daphne with a consumer that only forwards. Same Valkey, same
client, taken in turns. No worker runs, so nothing else commits; events are further apart than `live.PAUSE`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from channels.layers import get_channel_layer
from django.conf import settings
from django.test import Client
from websockets.sync.client import ClientConnection, connect

from agentstate.stack import ports, programs
from benchmarks.first import bare
from benchmarks.first.committing import committing
from benchmarks.first.sessions import opened
from benchmarks.ground import Ground
from sessions.conversation import commands as conversation_commands
from sessions.core import announcements

STARTS = 120.0  # seconds that a server may take to start
PATIENCE = 20.0  # seconds until a frame that does not come fails the benchmark
WARM = 5  # messages that are not counted


def times(here: Ground, samples: int) -> tuple[list[float], list[float]]:
    """Milliseconds of ours and of the bare message, taken in turns."""
    session = opened(here, "steps", "customer-frame")
    ours, base = [], []
    with _page(here) as page, _bare_socket(here) as socket, _loop() as loop:
        _watch(page, session)
        for number in range(-WARM, samples):
            time.sleep(2 * announcements.PAUSE)  # events closer together than PAUSE are told as one
            one, other = _event(here, session, page), _message(loop, socket)
            if number >= 0:
                ours.append(one)
                base.append(other)
    conversation_commands.end(here.caller, session, "measured")
    return ours, base


def _event(here: Ground, session: UUID, page: ClientConnection) -> float:
    with committing() as committed:
        seq = conversation_commands.say(here.caller, session, "Are you there?").seq
    while True:
        frame = page.recv(PATIENCE)
        received = time.monotonic_ns()
        if json.loads(frame).get("seq") == seq:
            return (received - committed[-1]) / 1e6


def _message(loop: asyncio.AbstractEventLoop, socket: ClientConnection) -> float:
    text = json.dumps({"kind": "changed", "session": str(UUID(int=1)), "seq": 1})
    began = time.monotonic_ns()
    message = {"type": "bench.message", "text": text}
    asyncio.run_coroutine_threadsafe(get_channel_layer().group_send(bare.GROUP, message), loop)
    socket.recv(PATIENCE)
    return (time.monotonic_ns() - began) / 1e6


@contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in a thread, as the announcer has it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def _watch(page: ClientConnection, session: UUID) -> None:
    page.send(json.dumps({"watch": [f"session:{session}"], "seen": {str(session): 1}}))
    while json.loads(page.recv(PATIENCE)).get("kind") != "watching":
        pass


@contextmanager
def _page(here: Ground) -> Iterator[ClientConnection]:
    """A signed-in browser's socket at the product's own Daphne."""
    browser = Client()
    browser.force_login(here.decider, backend="django.contrib.auth.backends.ModelBackend")
    cookie = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
    port = ports.any_free()
    here.supervisor.start(programs.web(here.stack, port, {}))
    with _socket(here, port, "live/", {"Cookie": cookie}) as page:
        yield page


@contextmanager
def _bare_socket(here: Ground) -> Iterator[ClientConnection]:
    port = ports.any_free()
    web = programs.web(here.stack, port, {})
    words = (bare.__name__ + ":application" if word == "agentstate.asgi:application" else word for word in web.command)
    here.supervisor.start(dataclasses.replace(web, name="bare", command=tuple(words)))
    with _socket(here, port, "bare/", {}) as socket:
        yield socket


@contextmanager
def _socket(here: Ground, port: int, path: str, headers: dict[str, str]) -> Iterator[ClientConnection]:
    here.supervisor.wait_until(lambda: not ports.is_free(port), f"Daphne on {port}", STARTS)
    origin = f"http://127.0.0.1:{port}"
    with connect(f"ws://127.0.0.1:{port}/{path}", origin=origin, additional_headers=headers, proxy=None) as socket:
        yield socket
