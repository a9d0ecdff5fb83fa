"""The one expression language: CEL, compiled once, evaluated on declared values only.

CEL has no loops but bounded comprehensions, no I/O, no clock and no way to reach Python. What an expression cannot
read (a missing key, a wrong type) is an error value, and an error is never taken for a yes: `holds` raises, and the
caller fails closed. What could cost too much (see `cost`) is refused before it is begun.

The caller says which names an expression may read: rules read NAMES, a statechart its own data and `_event`. The one
function besides CEL's own is `In('state')`, true while a statechart stands in that state.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from cel_expr_python import cel

from agentstate.engine.guards import kinds
from agentstate.engine.guards.cost import MAX_LOOPS, Cost, cost_of, effort, too_costly
from agentstate.engine.guards.syntax import Apply, Const, Field, Node, parse, walk
from agentstate.errors import Invalid

MAX_LENGTH = 2_000  # characters of one expression
NAMES = ("arguments", "state", "history", "session", "event", "customer", "agent", "time")
OF_GRANTS = (*NAMES, "granted")  # what the limit of a grant reads: also the arguments of the call that was approved
NOTHING: dict[str, dict[str, Any]] = {name: {} for name in OF_GRANTS}

# What may be told of CEL's errors: no value stands among these words, but for a key or an index that was looked up.
_SAID = re.compile(
    r"[A-Z_]{1,40}: (?:Key not found in map : \"(?P<key>[^\"]*)\"|Index error: index=(?P<index>\d+) size=\d+"
    r"|No matching overloads found : [^\s\"']{1,40}\([a-z0-9_, ().]{0,200}\)"
    r"|divide by zero|Iteration budget exceeded|modulus by zero|integer overflow|unsigned integer overflow"
    r"|invalid regular expression|cannot convert [a-z0-9]+ to [a-z0-9]+|String to [A-Za-z]+ conversion failed"
    r"|Type conversion error from '[a-z0-9]+' to '[a-z0-9]+'|Applying SELECT to non-message type)"
)

_IN = cel.CelExtension(
    "statechart", [cel.FunctionDecl("In", [cel.Overload("in_state", cel.Type.BOOL, [cel.Type.STRING], False)])]
)


class BadGuard(Invalid):
    """The expression does not compile or is not a yes-or-no question."""

    code = "bad_guard"


class UnreadableGuard(Invalid):
    """The expression could not be evaluated on these values."""

    code = "unreadable_guard"


class Expression(msgspec.Struct, frozen=True):
    """A compiled expression, its syntax and what makes it dear. `asks` when it speaks of a statechart's states."""

    program: Any
    tree: Node
    cost: Cost
    asks: bool


@lru_cache(maxsize=512)
def compiled(expression: str) -> Any:
    """The compiled rule over NAMES. Raises BadGuard with the compiler's position and reason."""
    made = expressed(expression, NAMES)
    must_ask(made)
    return made.program


def holds(
    expression: str,
    values: Mapping[str, Any],
    types: kinds.Types = kinds.UNTYPED,
    names: tuple[str, ...] = NAMES,
) -> bool:
    """Whether `expression` is true of `values` (keys among `names`), each of the kind that it is read as (see `kinds`).
    Raises BadGuard or UnreadableGuard.
    """
    given = {name: values.get(name, NOTHING[name]) for name in names}
    if fault := kinds.misread(reading(expression, names), given, types):
        raise UnreadableGuard(fault)
    return answered(expression, names, given)


@lru_cache(maxsize=4096)
def reading(expression: str, names: tuple[str, ...]) -> kinds.Reading:
    """What the expression reads, and as what. Raises BadGuard."""
    return kinds.reading(expressed(expression, names).tree)


@lru_cache(maxsize=4096)
def expressed(expression: str, names: tuple[str, ...]) -> Expression:
    """The expression over `names` and In(). Raises BadGuard with the compiler's position and reason."""
    if len(expression) > MAX_LENGTH:
        raise BadGuard(f"{len(expression)} characters, {MAX_LENGTH} allowed")
    try:
        program = _environment(names).compile(expression)
    except (RuntimeError, TypeError) as error:
        raise BadGuard(str(error).splitlines()[0]) from None
    tree = parse(program.serialize())
    cost = cost_of(tree, len(expression))
    if cost.loops > MAX_LOOPS:
        raise BadGuard(f"{cost.loops} comprehensions, {MAX_LOOPS} allowed")
    asks = any(isinstance(node, Apply) and node.function == "In" for node in walk(tree))
    return Expression(program, tree, cost, asks)


@lru_cache(maxsize=256)
def _environment(names: tuple[str, ...]) -> Any:
    return cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DYN), extensions=[_IN])


def answered(expression: str, names: tuple[str, ...], values: Mapping[str, Any], within: Container[str] = ()) -> bool:
    """Whether `expression` is true of `values`, in the states `within`. Raises BadGuard or UnreadableGuard."""
    made = expressed(expression, names)
    must_ask(made)
    result = _result(made, values, within)
    if result.type() != cel.Type.BOOL:
        raise UnreadableGuard(f"got {result.type().name()}, want true or false")
    return bool(result.value())


def valued(expression: str, names: tuple[str, ...], values: Mapping[str, Any], within: Container[str] = ()) -> Any:
    """What `expression` amounts to: null, bool, int, text, or lists and objects of them. Raises as `answered`."""
    value = _result(expressed(expression, names), values, within).plain_value()
    _must_be_json(value)
    return value


def effort_of(expression: str, names: tuple[str, ...], values: Mapping[str, Any]) -> int:
    """About how much evaluating this takes, for a budget over several. Raises BadGuard."""
    return effort(expressed(expression, names).cost, values.values())


def must_ask(made: Expression) -> None:
    given = made.program.return_type()
    if given not in (cel.Type.BOOL, cel.Type.DYN):
        raise BadGuard(f"it gives {given.name()}, want a yes or a no")


def _result(made: Expression, values: Mapping[str, Any], within: Container[str]) -> Any:
    dear = too_costly(made.cost, values.values())
    if dear:
        raise UnreadableGuard(f"too_costly: {dear}")
    try:
        result = made.program.eval(data=values, functions=_functions(made, within))
    except (RuntimeError, TypeError, ValueError) as error:
        raise UnreadableGuard(_without_values(str(error), made.tree)) from None
    if result.type() == cel.Type.ERROR:
        raise UnreadableGuard(f"got {_without_values(str(result.value()), made.tree)!r}")
    return result


def _without_values(text: str, tree: Node) -> str:
    """What CEL says of an error, as far as it quotes nothing but the expression itself; else its code alone."""
    known = _SAID.match(text)
    if known is None:
        return text.partition(":")[0][:40]
    lacking = known["key"] or known["index"]
    written = {node.name for node in walk(tree) if isinstance(node, Field)}
    written |= {str(node.value) for node in walk(tree) if isinstance(node, Const)}
    return known[0] if lacking is None or lacking in written else known[0].partition(":")[0]


def _functions(made: Expression, within: Container[str]) -> list[Any]:
    if not made.asks:
        return []
    return [cel.Function("In", [cel.Type.STRING], False, lambda state: state in within, cel.Type.BOOL)]


def _must_be_json(value: Any) -> None:
    """Numbers are integers, keys are text; there are no bytes, times or types in data."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if not all(isinstance(key, str) for key in item):
                raise UnreadableGuard("the keys of an object are text")
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif not (item is None or isinstance(item, bool | int | str)):
            raise UnreadableGuard(f"got a {type(item).__name__}, want null, a bool, an integer, text, list or object")
