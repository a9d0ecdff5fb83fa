"""Agents with bounds of their own, asked over the wire, for tests of the loop with a real worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from agentstate.engine.looping.settings import Looping
from demo.bank_agent.agent import BANK
from sessions.agents import registry
from tests.live.chat_server import Call, ChatServer, Json, Reply, Say

KEY = "sk-wire-1a2b3c4d5e6f7a8b"


@contextmanager
def agent(settings: Any, replies: list[Reply] | Callable[[Json], Reply], **changes: Any) -> Iterator[ChatServer]:
    """The bank's agent with other settings, asked at a server that gives `replies`."""
    with ChatServer(replies) as server, at_endpoint(settings, server.url, **changes):
        yield server


@contextmanager
def at_endpoint(settings: Any, url: str, **changes: Any) -> Iterator[None]:
    """The bank's agent with other settings, under the same name; `loop` is given as the fields of Looping in a dict."""
    bounds = msgspec.convert(changes.pop("loop", {}), Looping)
    other = msgspec.structs.replace(BANK, **{"loop": bounds, "script": None, "chart": "", **changes})
    held = registry._registry.pop("bank")
    settings.AGENT_MODEL, settings.AGENT_BASE_URL, settings.AGENT_API_KEY = "small", url, KEY
    try:
        registry.register(other)
        _forget()
        yield
    finally:
        registry._registry["bank"] = held
        _forget()


def _forget() -> None:
    for kept in vars(registry).values():
        if (clear := getattr(kept, "cache_clear", None)) is not None:
            clear()


def calling(tool: str, text: str = "", **arguments: Any) -> Say:
    """A turn that makes one call."""
    return Say(text, calls=(Call(tool, json.dumps(arguments), id="c1"),))


def told(request: Json) -> list[Json]:
    """What the model was told of its calls, in order."""
    return [json.loads(message["content"])["data"] for message in request["messages"] if message["role"] == "tool"]
