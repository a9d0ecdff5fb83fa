"""How much a schema can make a validator do with one place of a value, judged from the schema alone.

What applies side by side (`allOf`, `anyOf`, a `$ref` beside other words) is added up; of what excludes each other (two
properties, two items) the greatest counts. A recursive definition is bounded by the depth of a value as long as it
leads back to itself in one way; two ways would double the work on every level and are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentstate.engine.schemas import bounds
from agentstate.engine.schemas.places import children, held_in
from agentstate.engine.schemas.refusals import BadSchema

MAX_WAYS = 20_000
_APART = ("properties", "additionalProperties", "prefixItems", "items")
_BELOW = ("patternProperties", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


def check(schema: Any, at: str = "schema") -> None:
    """Raises BadSchema with the rule `repeated_recursion` or `max_ways`."""
    bodies = {"#": schema}
    if isinstance(schema, dict):
        bodies |= {f"#/$defs/{name}": body for name, body in (schema.get("$defs") or {}).items()}
    _must_get_on(bodies, at)
    reached = _reached({name: _references(body) for name, body in bodies.items()})
    known: dict[str, int] = {}
    # What leads to less is known before, and a ring before those who lead into it.
    for name in sorted(bodies, key=lambda name: (len(reached[name]), name not in reached[name])):
        ways = _ways_of(name, bodies, reached, known)
        if ways > MAX_WAYS:
            raise BadSchema(f"{at}{name[1:]}", "max_ways", f"its parts are tried in more than {MAX_WAYS} ways")


def _must_get_on(bodies: dict[str, Any], at: str) -> None:
    """A definition that leads to itself at the same place of a value says nothing, for ever."""
    stays = _reached({name: _references(body, (*_APART, *_BELOW)) for name, body in bodies.items()})
    for name, to in stays.items():
        if name in to:
            raise BadSchema(f"{at}{name[1:]}", "endless_ref", "it refers to itself and to nothing else")


def _ways_of(name: str, bodies: dict[str, Any], reached: dict[str, set[str]], known: dict[str, int]) -> int:
    """The ways of one definition, with those of all that stand in a ring with it. Raises BadSchema."""
    if name in known:
        return known[name]
    ring = {other for other in reached[name] if name in reached[other]} | {name}
    total = 0
    for member in ring:
        if member in reached[member] and _tries(bodies[member], lambda to: int(to in ring), 0) > 1:
            raise BadSchema(f"schema{member[1:]}", "repeated_recursion", "it leads back to itself in more than one way")
        total += _tries(bodies[member], lambda to: 0 if to in ring else known.get(to, MAX_WAYS + 1), 1)
    again = bounds.USUAL.depth if name in reached[name] else 1
    known.update(dict.fromkeys(ring, min(again * total, MAX_WAYS + 1)))
    return known[name]


def _tries(part: Any, of_reference: Callable[[str], int], itself: int) -> int:
    """How often something is tried at one place: `itself` for every part, `of_reference` for every `$ref`."""
    if not isinstance(part, dict):
        return itself
    beside, apart = 0, 0
    for word, _, inner in children(part):
        if word in _APART:
            apart = max(apart, _tries(inner, of_reference, itself))
        elif word != "$defs":
            beside += _tries(inner, of_reference, itself)
    if "$ref" in part:
        beside += of_reference(part["$ref"])
    twice = 2 if any(word in part for word in _UNEVALUATED) else 1  # to learn what has been evaluated
    return itself + twice * (beside + apart)


def _references(body: Any, but: tuple[str, ...] = ()) -> set[str]:
    """The definitions that `body` names outside of its own `$defs` and of the words in `but`."""
    return {part["$ref"] for part in held_in(body, but) if isinstance(part, dict) and "$ref" in part}


def _reached(named: dict[str, set[str]]) -> dict[str, set[str]]:
    """From each definition, all that it leads to, over however many steps."""
    reached = {name: set(to) for name, to in named.items()}
    for middle in reached:
        for to in reached.values():
            if middle in to:
                to |= reached[middle]
    return reached
