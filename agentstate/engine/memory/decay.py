"""How what mattered fades: it halves with every half-life, in between along a straight line.

Whole numbers throughout, so that every machine computes the same. The straight line lies at most 6.2 % above the
exponential (at 0.56 of a half-life).
"""

from __future__ import annotations

from agentstate.engine.instants import parse

LONGEST = 40  # half-lives after which nothing is left of any number of points we give


def decayed(points: int, age: int, half_life: int) -> int:
    """What is left of `points` after `age`, both in the unit of `half_life`; all of it where `half_life` is 0."""
    if half_life == 0 or age <= 0:
        return points
    whole, rest = divmod(age, half_life)
    if whole >= LONGEST:
        return 0
    return points * (2 * half_life - rest) // (2 * half_life << whole)


def seconds_between(earlier: str, later: str) -> int:
    """Whole seconds from one instant of the envelopes to another; 0 where one is not known."""
    if not earlier or not later:
        return 0
    passed = parse(later) - parse(earlier)
    return max(0, passed.days * 86_400 + passed.seconds)
