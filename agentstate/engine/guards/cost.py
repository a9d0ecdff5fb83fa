"""What an expression may cost, judged before it is evaluated: from its syntax and from the size of what it reads.

The runtime underneath stops after 10,000 rounds of comprehensions, but not before lists that are built take quadratic
time (9,000 elements through `map`: seconds) or strings that are doubled round by round take the memory of the machine.
So what could become large is refused by name: rule `too_costly`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agentstate.engine.guards.syntax import Apply, Each, Name, Node, depth_of_loops, walk

MAX_LOOPS = 16  # comprehensions in one expression
ROUNDS = 10_000  # rounds of comprehensions that the runtime allows in one evaluation
MAX_BUILDING = 2_000_000  # rounds times the length of a list that is built, about 0.1 s
MAX_BYTES = 20_000_000  # what values that are put together may amount to
MAX_VALUES = 200_000  # single values that an expression with comprehensions may read


class Cost(msgspec.Struct, frozen=True):
    """What of an expression makes it dear: its length, joins (`+`), comprehensions, their nesting, lists built."""

    length: int
    joins: int = 0
    loops: int = 0
    nested: int = 0
    builds: bool = False

    @property
    def free(self) -> bool:
        """Whether the size of what it reads does not matter."""
        return not self.loops and not self.joins


def cost_of(tree: Node, length: int) -> Cost:
    """The cost of an expression by its syntax alone."""
    nodes = list(walk(tree))
    loops = [node for node in nodes if isinstance(node, Each)]
    # For map, filter and exists_one the runtime adds sums of its own, which are not the author's.
    joins = sum(
        isinstance(node, Apply) and node.function == "_+_" and node.arguments[0] != Name("@result") for node in nodes
    )
    return Cost(length, joins, len(loops), depth_of_loops(tree), any(loop.builds for loop in loops))


def too_costly(cost: Cost, values: Iterable[Any]) -> str:
    """Why evaluating this on `values` is not begun, or an empty string."""
    if cost.free:
        return ""
    count, longest, size = measured(values)
    if count > MAX_VALUES:
        return f"it reads more than {MAX_VALUES} values"
    longest, size = longest + cost.length, size + cost.length
    if not cost.loops:
        return _over(size * (cost.joins + 1), MAX_BYTES, "bytes could be put together")
    rounds = min(cost.loops * longest**cost.nested, ROUNDS)
    if cost.builds and rounds * longest > MAX_BUILDING:
        return _over(rounds * longest, MAX_BUILDING, "steps could go into lists that are built, budget exceeded")
    # What is doubled in one comprehension can be doubled again in the next.
    grown = size * 2 ** min(cost.joins, 60)
    return _over(rounds * grown if cost.joins else 0, MAX_BYTES, "bytes could be put together")


def effort(cost: Cost, values: Iterable[Any]) -> int:
    """About how much evaluating this takes, at least 1: a thousand are a hundredth of a millisecond."""
    if not cost.loops:
        return 1 + cost.length // 10
    count, longest, _ = measured(values)
    rounds = min(cost.loops * (longest + cost.length) ** cost.nested, ROUNDS)
    return int(count + rounds * (longest + cost.length if cost.builds else 100))


def _over(got: int, limit: int, what: str) -> str:
    return f"{got} {what}, {limit} allowed" if got > limit else ""


def measured(values: Iterable[Any]) -> tuple[int, int, int]:
    """How many single values there are, the longest list or object, and about how many bytes all are."""
    waiting, count, longest, size = list(values), 0, 0, 0
    while waiting and count <= MAX_VALUES:
        value = waiting.pop()
        count += 1
        size += len(value) if isinstance(value, str) else 8
        if isinstance(value, dict):
            size += sum(map(len, filter(lambda key: isinstance(key, str), value)))
            waiting.extend(value.values())
            longest = max(longest, len(value))
        elif isinstance(value, list | tuple):
            waiting.extend(value)
            longest = max(longest, len(value))
    return count, longest, size
