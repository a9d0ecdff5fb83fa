"""A worker process of another version: it knows some tools and not others, and perhaps not every kind of entry.

`python -m tests.shell.rolling_worker [--tool NAME=VERSION]... [--without KIND]...` works off what is due, and ends.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import django

django.setup()

from agentstate.engine import events  # noqa: E402 - once Django is set up
from agentstate.engine.events.upcast import Vocabulary  # noqa: E402
from agentstate.engine.model import ModelAnswer, ModelRequest, ProposedCall  # noqa: E402
from sessions.agents.registry import Agent, register  # noqa: E402
from sessions.runtime import advance  # noqa: E402
from sessions.tools.registry import tool  # noqa: E402

EMPTY = {"type": "object", "additionalProperties": False}


class Proposes:
    """A model that calls the first tool it is offered, once."""

    name = "rolling"

    def answer(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelAnswer:
        done = any(item.role == "tool" for item in request.messages)
        calls = () if done or not request.tools else (ProposedCall("1", request.tools[0].name, {}),)
        return ModelAnswer(text="" if calls else "Done.", calls=calls, model=self.name)


def _ran(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
    return {"ran": True}


def known(tools: dict[str, int]) -> None:
    """Register the agent with these tools, by name and version."""
    for name, version in tools.items():
        tool(name=name, version=version, description="Does it.", effect="idempotent", arguments=EMPTY)(_ran)
    register(Agent("rolling", "Work.", tuple(tools), "bank", {}, script=Proposes()))


def without(*kinds: str) -> None:
    """Forget kinds of entries, as a version that came before them."""
    members = [each for each in events.EVENTS if each.__struct_config__.tag not in kinds]
    events._vocabulary = Vocabulary(reduce(or_, members), {})


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    given = parser.parse_args(words)
    known({name: int(version) for name, _, version in (each.partition("=") for each in given.tool)})
    if given.without:
        without(*given.without)
    print(advance.advance_ready())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
