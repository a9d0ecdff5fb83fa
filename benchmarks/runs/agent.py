"""The agents of this group, beside those of `benchmarks.first`; imported by the benchmark and by its workers.

`talking` says 400 bytes and calls one tool in every answer, so that its session grows by a message a step; `judged` is
the same under rules about its words. `burst`
proposes one call that policy puts before a person, and whose tool tells in which session it began.
"""

from __future__ import annotations

import os
import time
from typing import Any

from agentstate.engine.model import ModelAnswer, ModelRequest, ProposedCall
from benchmarks.first import agent as first
from sessions.agents.registry import Agent, register
from sessions.tools.registry import ToolContext, tool

BEGAN = "bench:began"  # list in Valkey: session and nanoseconds of the machine's monotonic clock
SAID = "It is on its way to you, and I will tell you as soon as it is there. " * 6  # about 400 bytes
SLOW = 60.0  # seconds; nobody waits for it: its worker is killed


def _tell(context: ToolContext) -> None:
    """Session, instant and process."""
    first._valkey(os.getpid()).rpush(BEGAN, f"{context.session} {time.monotonic_ns()} {os.getpid()}")


@tool(name="bench_burst", version=1, description="Says where.", effect="idempotent", arguments=first.NUMBER)
def bench_burst(arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """Tells the session and the instant."""
    _tell(context)
    return {"number": arguments["number"]}


@tool(name="bench_slow", version=1, description="Takes long.", effect="pure", arguments=first.NUMBER, timeout=SLOW)
def bench_slow(arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """Tells that it began, and then takes its time until nobody waits any more."""
    _tell(context)
    context.stop.wait(SLOW)
    return {"number": arguments["number"]}


class Talking:
    """A model that talks as it works."""

    name = "script:talking"

    def answer(self, request: ModelRequest, *, on_text: Any = None) -> ModelAnswer:
        """A message and a call, until it is enough."""
        if first.halt.is_set():
            return ModelAnswer(text="Done.", calls=(), model=self.name)
        call = ProposedCall("1", "bench_step", {"number": len(first.ran)}, "state.step")
        return ModelAnswer(text=SAID, calls=(call,), model=self.name)


def _one(tool_name: str) -> Any:
    return lambda: (ProposedCall("1", tool_name, {"number": 1}),)


register(Agent("talking", "Work.", ("bench_step",), "bank", {}, script=Talking()))
register(Agent("judged", "Work.", ("bench_step",), "speech", {}, script=Talking()))
for name in ("burst", "slow"):
    script = first.Script(f"script:{name}", _one(f"bench_{name}"))
    register(Agent(name, "Work.", (f"bench_{name}",), "bank", {}, script=script))
