"""A plan of many calls: chains of ten that start from an input, with joins between neighbours."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from statistics import linear_regression, median

import msgspec

from agentstate.engine import references
from agentstate.engine.plan import model
from agentstate.engine.plan.check import check
from agentstate.engine.plan.facts import Facts, ToolCard
from agentstate.engine.plan.order import graph

CHAIN = 10
FACTS = Facts({"work": ToolCard("work")}, views={"state": {}, "input": {"start": 1}})


def written(calls: int) -> bytes:
    """The plan as its JSON."""
    return msgspec.json.encode([_call(number) for number in range(calls)])


def _call(number: int) -> dict[str, object]:
    before = f"†state.step{number - 1}" if number % CHAIN else "†input.start"
    beside = f"†state.step{number - CHAIN} || input.start" if number >= CHAIN else "†input.start"
    return {"_tool": "work", "_id": f"c{number}", "_outputPath": f"state.step{number}", "after": [before, beside]}


def check_and_order(calls: int, times: int) -> float:
    """Median CPU seconds to read, check and order the plan, with nothing remembered from before."""
    data, taken = written(calls), []
    for _ in range(times):
        references._parsed.cache_clear()
        began = time.process_time()
        plan = model.decode(data)
        findings = check(plan, FACTS)
        waves = graph(plan)
        taken.append(time.process_time() - began)
        if any(finding.severity == "error" for finding in findings) or not waves:
            raise AssertionError(f"the plan is refused: {findings[0]}")
    return median(taken)


def decode(calls: int, times: int) -> float:
    """Median CPU seconds to decode the plan's JSON, no more."""
    data, taken = written(calls), []
    for _ in range(times):
        began = time.process_time()
        for _ in range(10):
            msgspec.json.decode(data)
        taken.append((time.process_time() - began) / 10)
    return median(taken)


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of log seconds over log size: 1 is linear."""
    return linear_regression([math.log(size) for size in sizes], [math.log(each) for each in seconds]).slope
