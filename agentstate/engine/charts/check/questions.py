"""What can be decided about questions from their text: that one never holds, that two cannot hold together.

A question becomes alternatives of comparisons. Comparisons of one and the same expression with constants are decided
as intervals and sets; anything else is only known to be equal to itself and opposite to its negation.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, Literal

import msgspec

from agentstate.engine import guards
from agentstate.engine.guards.syntax import Apply, Const, Field, Many, Name, Node, walk
from agentstate.errors import Invalid

MAX_CLAUSES = 64
_FLIPPED = {"_<_": "_>_", "_>_": "_<_", "_<=_": "_>=_", "_>=_": "_<=_", "_==_": "_==_", "_!=_": "_!=_"}
_OPPOSITE = {"_<_": "_>=_", "_>=_": "_<_", "_>_": "_<=_", "_<=_": "_>_", "_==_": "_!=_", "_!=_": "_==_"}
Answer = Literal["no", "yes", "perhaps"]


class Literally(msgspec.Struct, frozen=True):
    """One comparison: `subject` is an expression as text, `plain` when it is a path and no more."""

    subject: str
    operator: str
    constant: Any
    plain: bool = True


Clause = tuple[Literally, ...]


class TooManyAlternatives(Exception):
    """The question has more alternatives than are looked at."""


def truth(question: str, names: tuple[str, ...]) -> bool | None:
    """False when no values make it true, True when none make it false, None when that is not known."""
    try:
        tree = guards.expressed(question, names).tree
        if not any(isinstance(node, Name) or _is_in(node) for node in walk(tree)):
            return guards.answered(question, names, {})
        if _possible(_clauses(tree, True)) == "no":
            return False
        return True if _possible(_clauses(tree, False)) == "no" else None
    except guards.UnreadableGuard:
        return False
    except (Invalid, TooManyAlternatives):
        return None


def together(first: str, second: str, names: tuple[str, ...]) -> Answer:
    """Whether both questions can be answered with yes at once."""
    return _both(first, second, names, True)


def implies(first: str, second: str, names: tuple[str, ...]) -> bool:
    """Whether the second certainly holds wherever the first does."""
    return _both(first, second, names, False) == "no"


def _both(first: str, second: str, names: tuple[str, ...], wanted: bool) -> Answer:
    try:
        one = _clauses(guards.expressed(first, names).tree, True)
        other = _clauses(guards.expressed(second, names).tree, wanted)
        return _possible(_combined(one, other))
    except (Invalid, TooManyAlternatives):
        return "perhaps"


def _is_in(node: Node) -> bool:
    return isinstance(node, Apply) and node.function == "In"


@lru_cache(maxsize=4096)
def _clauses(node: Node, wanted: bool) -> tuple[Clause, ...]:
    """The alternatives under which `node` is `wanted`. Raises TooManyAlternatives."""
    match node:
        case Const(value=bool(value)):
            return ((),) if value is wanted else ()
        case Apply(function="!_", arguments=(inner,)):
            return _clauses(inner, not wanted)
        case Apply(function="_&&_" | "_||_" as function, arguments=(left, right)):
            one, other = _clauses(left, wanted), _clauses(right, wanted)
            return _combined(one, other) if (function == "_&&_") is wanted else _at_most((*one, *other))
        case Apply(function="@in", arguments=(subject, Many(items=items))) if all(_constant(one) for one in items):
            parts = tuple(_compared(subject, "_==_", one.value, wanted) for one in items if isinstance(one, Const))
            return _at_most(parts) if wanted else (tuple(one for part in parts for one in part),)
        case Apply(function=function, arguments=(left, right)) if function in _FLIPPED:
            return _comparison(function, left, right, wanted)
    return (_compared(node, "_==_", True, wanted),)


def _constant(node: Node) -> bool:
    return isinstance(node, Const)


def _comparison(function: str, left: Node, right: Node, wanted: bool) -> tuple[Clause, ...]:
    if isinstance(left, Const) and not isinstance(right, Const):
        return (_compared(right, _FLIPPED[function], left.value, wanted),)
    if isinstance(right, Const) and not isinstance(left, Const):
        return (_compared(left, function, right.value, wanted),)
    return (_compared(Apply(function, (left, right)), "_==_", True, wanted),)


def _compared(subject: Node, operator: str, constant: Any, wanted: bool) -> Clause:
    plain = not any(not isinstance(node, Name | Field) or _asks(node) for node in walk(subject))
    return (Literally(repr(subject), operator if wanted else _OPPOSITE[operator], constant, plain),)


def _asks(node: Node) -> bool:
    return isinstance(node, Field) and node.asked


def _combined(one: tuple[Clause, ...], other: tuple[Clause, ...]) -> tuple[Clause, ...]:
    if len(one) * len(other) > MAX_CLAUSES:
        raise TooManyAlternatives
    return tuple((*first, *second) for first, second in product(one, other))


def _at_most(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    if len(clauses) > MAX_CLAUSES:
        raise TooManyAlternatives
    return clauses


def _possible(clauses: tuple[Clause, ...]) -> Answer:
    """Whether one of the alternatives can be so: `yes` only when all it speaks of are paths beside each other."""
    open_ones = [clause for clause in clauses if not _contradicts_itself(clause)]
    if not open_ones:
        return "no"
    return "yes" if any(all(one.plain for one in clause) for clause in open_ones) else "perhaps"


def _contradicts_itself(clause: Clause) -> bool:
    subjects = {one.subject for one in clause}
    return any(not _satisfiable([one for one in clause if one.subject == subject]) for subject in subjects)


def _satisfiable(about: list[Literally]) -> bool:
    """Whether one value meets all these comparisons. Only integers have limits that can be counted."""
    equal = [one.constant for one in about if one.operator == "_==_"]
    if equal:
        return all(_meets(equal[0], one) for one in about)
    bounds = [one for one in about if one.operator != "_!=_"]
    if not all(type(one.constant) is int for one in bounds):
        return len({type(one.constant) for one in bounds}) <= 1 and _ordered(bounds)
    low = max((one.constant + (one.operator == "_>_") for one in _lower(bounds)), default=None)
    high = min((one.constant - (one.operator == "_<_") for one in _upper(bounds)), default=None)
    if low is None or high is None:
        return _two_valued(about)
    unequal = {one.constant for one in about if one.operator == "_!=_" and type(one.constant) is int}
    return low <= high and (high - low >= len(unequal) or any(n not in unequal for n in range(low, high + 1)))


def _lower(bounds: list[Literally]) -> list[Literally]:
    return [one for one in bounds if one.operator in ("_>_", "_>=_")]


def _upper(bounds: list[Literally]) -> list[Literally]:
    return [one for one in bounds if one.operator in ("_<_", "_<=_")]


def _two_valued(about: list[Literally]) -> bool:
    """A question that is neither true nor false is no question."""
    refused = {one.constant for one in about if one.operator == "_!=_" and isinstance(one.constant, bool)}
    return len(refused) < 2


def _ordered(bounds: list[Literally]) -> bool:
    """Texts have an order but no next one, so only crossed limits are told."""
    return not any(_crossed(low, high) for low in _lower(bounds) for high in _upper(bounds))


def _crossed(low: Literally, high: Literally) -> bool:
    if low.constant == high.constant:
        return (low.operator, high.operator) != ("_>=_", "_<=_")
    return bool(low.constant > high.constant)


def _meets(value: Any, one: Literally) -> bool:
    same = type(value) is type(one.constant)
    match one.operator:
        case "_==_":
            return same and bool(value == one.constant)
        case "_!=_":
            return not (same and value == one.constant)
    if not same or isinstance(value, bool) or value is None:
        return False
    match one.operator:
        case "_<_":
            return bool(value < one.constant)
        case "_<=_":
            return bool(value <= one.constant)
        case "_>_":
            return bool(value > one.constant)
    return bool(value >= one.constant)
