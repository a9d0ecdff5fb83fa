"""The agents that the benchmarks drive: real ones in the real registry, with a model that costs nothing.

Imported by the benchmark and by its Celery worker (`--include`). `steps` calls a tool that does nothing, sixteen
times an answer, until `halt` is set; `gated` proposes one call that policy puts before a person, again and again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import redis
from django.conf import settings

from agentstate.engine.looping.settings import Looping
from agentstate.engine.model import ModelAnswer, ModelRequest, ProposedCall
from sessions.agents.registry import Agent, register
from sessions.tools.registry import ToolContext, tool

CALLS = 16  # what the engine takes of one answer
AGAIN_AND_AGAIN = Looping(same_tool=0)  # calls of one tool are what is measured
STARTED = "bench:started"  # list in Valkey: when the gated tool began, in nanoseconds of the machine's monotonic clock

halt = threading.Event()
ran: list[str] = []  # the calls of `bench_step` so far
NUMBER = {"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}}


@tool(name="bench_step", version=1, description="Does nothing.", effect="pure", arguments=NUMBER)
def bench_step(arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """Counts itself."""
    ran.append(context.call)
    return {"number": arguments["number"], "balance": {"minor": 1250_00, "currency": "USD"}}


@tool(name="bench_gated", version=1, description="Says when it began.", effect="idempotent", arguments=NUMBER)
def bench_gated(arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """Tells the benchmark the instant at which it was started."""
    began = time.monotonic_ns()
    _valkey(os.getpid()).rpush(STARTED, began)
    return {"number": arguments["number"]}


@cache
def _valkey(_pid: int) -> redis.Redis:
    return redis.Redis.from_url(settings.STACK.cache_url)


class Script:
    """A model in no time: what `calls` says of the request."""

    def __init__(self, name: str, calls: Callable[[], tuple[ProposedCall, ...]]) -> None:
        self.name = name
        self._calls = calls

    def answer(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelAnswer:
        """The calls, or a word when there are none."""
        calls = self._calls()
        return ModelAnswer(text="" if calls else "Done.", calls=calls, model=self.name)


def _many() -> tuple[ProposedCall, ...]:
    if halt.is_set():
        return ()
    return tuple(ProposedCall(str(n), "bench_step", {"number": n}, "state.step") for n in range(CALLS))


def _one() -> tuple[ProposedCall, ...]:
    return (ProposedCall("1", "bench_gated", {"number": 1}),)


for name, calls, tool_name in (("steps", _many, "bench_step"), ("gated", _one, "bench_gated")):
    script = Script(f"script:{name}", calls)
    register(Agent(name, "Work.", (tool_name,), "bank", {}, script=script, loop=AGAIN_AND_AGAIN))
