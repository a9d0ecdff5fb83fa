"""Every agent that comes with the product or its demo has bounds: tokens, model requests and calls of a run and a
session, circles, delegates.

What its tokens may cost follows from the prices: money is bounded beside them where an installation declares prices.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import demo.bank_agent
import sessions.agents
from agentstate.engine.looping.settings import Limits
from sessions.agents.registry import Agent


def shipped() -> Iterator[Agent]:
    """The agents of all modules of the product and of the demo."""
    for package in (sessions.agents, demo.bank_agent):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            found = vars(importlib.import_module(module.name)).values()
            yield from (each for each in found if type(each) is Agent)


AGENTS = {agent.name: agent for agent in shipped()}


def test_the_bank_is_among_them():
    assert "bank" in AGENTS


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("of", ["run", "session"])
def test_a_shipped_agent_has_bounds_of_its_own(name, of):
    limits: Limits = getattr(AGENTS[name].loop, of)
    assert min(limits.tokens, limits.steps, limits.calls) > 0


@pytest.mark.parametrize("name", AGENTS)
def test_a_shipped_agent_is_told_of_circles_and_opens_a_bounded_number_of_delegates(name):
    loop = AGENTS[name].loop
    assert min(loop.repeats, loop.same_tool) > 0
    assert 0 <= loop.delegates.at_once <= loop.delegates.opened < 100
