"""Whether the values that an expression reads are of the kinds that it reads them as, judged before it is evaluated.

CEL answers an ordinary no where it compares values of different kinds, looks for a key in a list's place, or goes over
an object in a list's place. A no may let a call through, so such a value is unreadable instead:

- a value that breaks the type declared for its place (`Types.judge`),
- values of different kinds that `==`, `!=` or `in` compares; null counts only where neither the declared type nor the
  expression itself expects it,
- an object that `in` or a comprehension takes for a list: no expression reads an entry of it by its key. `in` may look
  into one where a rule asks a person for a no, as in `!(key in state.orders)`,
- the error of a failed call, `{"error": "..."}`.

What is missing is left to the evaluation. Names other than `state` and `arguments` hold what the engine itself made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, TypeGuard, Union

import msgspec

from agentstate.engine.guards.syntax import Apply, Const, Each, Field, Many, Name, Node, children

GIVEN = ("state", "arguments")  # names whose values others than the engine write
MAX_FOUND = 10_000  # values that one path may lead to


class Every(Enum):
    """A step to every entry: the ITEM of a comprehension (an object's key, as CEL has it), or a VALUE under any key."""

    ITEM = "item"
    VALUE = "value"


Step = Union[str, int, Every, "Path"]  # a path: the values there are the keys
Path = tuple[Step, ...]
Names = tuple[str, ...]


class Operand(msgspec.Struct, frozen=True):
    """One side of a comparison: the kinds it has by itself, and the paths whose values it may have."""

    kinds: frozenset[str] = frozenset()
    paths: tuple[Path, ...] = ()


class Reading(msgspec.Struct, frozen=True):
    """What one expression reads of GIVEN. `gone_over`: what `in` and comprehensions take as a whole, and
    whether a no makes the expression true; `opened`: whose
    entries are read by key; `compared`: both sides of `==`, `!=` and `in`, and whether the second is looked through.
    """

    reads: tuple[Path, ...]
    gone_over: tuple[tuple[Path, bool], ...]
    opened: frozenset[Path]
    compared: tuple[tuple[Operand, Operand, bool], ...]
    nullable: frozenset[Path]


Judge = Callable[[Names, Any], str | None]


def undeclared(at: Names, value: Any) -> str | None:
    """The judge where no type is declared."""
    return None


class Types(msgspec.Struct, frozen=True):
    """What is declared of GIVEN. `judge` says of the value at a place why it breaks its declared type, or an empty
    text; None where no type is declared. `opened`: what other expressions read entries of by key. `asks`: a yes of the
    expression asks a person.
    """

    judge: Judge = undeclared
    opened: frozenset[Path] = frozenset()
    asks: bool = False


UNTYPED = Types()


class TooMany(Exception):
    """A path leads to more than MAX_FOUND values."""


def misread(found: Reading, values: Mapping[str, Any], types: Types = UNTYPED) -> str:
    """Returns why these values cannot be read as an expression reads them, by path; empty: they can."""
    try:
        return next(_faults(found, values, types), "")
    except TooMany:
        return f"it reads more than {MAX_FOUND} values"


def _faults(found: Reading, values: Mapping[str, Any], types: Types) -> Iterator[str]:
    for path in found.reads:
        for at, value in _values(path, values):
            fault = types.judge(at, value)
            if fault:
                yield fault
            elif fault is None and _is_error(value):
                yield f"{'.'.join(at)}: the error of a failed call"
    for path, asks_for_no in found.gone_over:
        if asks_for_no and types.asks:
            continue
        for at, value in _values(path, values):
            is_object = isinstance(value, dict) and _plain(path) not in found.opened | types.opened
            if is_object and types.judge(at, value) is None:
                yield f"{'.'.join(at)}: got an object, want a list"
    for one, other, is_in in found.compared:
        kinds = _kinds(one, found, values, types)
        others = _kinds_within(other, values) if is_in else _kinds(other, found, values, types)
        if kinds and others and len(kinds | others) > 1:
            yield f"{_said(one, other)}{' and '.join(sorted(kinds | others))} are compared"


def _said(*operands: Operand) -> str:
    paths = (".".join(step for step in path if isinstance(step, str)) for each in operands for path in each.paths)
    return f"{', '.join(dict.fromkeys(paths))}: "


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"error"} and isinstance(value["error"], str)


def _kinds(operand: Operand, found: Reading, values: Mapping[str, Any], types: Types) -> frozenset[str]:
    """The kinds that a side has now. Null is left out where the declared type or the expression itself expects it."""
    kinds = set(operand.kinds)
    for path in operand.paths:
        for at, value in _values(path, values):
            if value is not None or (path not in found.nullable and types.judge(at, value) is None):
                kinds.add(kind(value))
    return frozenset(kinds)


def _kinds_within(operand: Operand, values: Mapping[str, Any]) -> frozenset[str]:
    """The kinds of what stands in the lists, and of the keys of the objects, that a side has now."""
    held = [value for path in operand.paths for _, value in _values(path, values)]
    items = {kind(item) for value in held if isinstance(value, list | dict) for item in value}
    return operand.kinds | items


def kind(value: Any) -> str:
    """The kind of a JSON value, as CEL tells them apart."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "text"
    if isinstance(value, dict):
        return "object"
    return "list" if isinstance(value, list | tuple) else "number"


def _values(path: Path, values: Mapping[str, Any]) -> list[tuple[Names, Any]]:
    """Each value to which the path leads, with its place. Raises TooMany."""
    found: list[tuple[Names, Any]] = [((), values)]
    for step in path:
        if isinstance(step, str):  # by far the most
            found = [((*at, step), value[step]) for at, value in found if isinstance(value, dict) and step in value]
            continue
        keys = (
            {key for _, key in _values(step, values) if isinstance(key, str | int)}
            if isinstance(step, tuple)
            else {step}
        )
        found = [each for at, value in found for key in keys for each in _below(at, value, key)]
        if len(found) > MAX_FOUND:
            raise TooMany
    return found


def _below(at: Names, value: Any, key: Any) -> Iterator[tuple[Names, Any]]:
    if isinstance(value, dict):
        if isinstance(key, Every):
            yield from (((*at, name), name if key is Every.ITEM else each) for name, each in value.items())
        elif key in value:
            yield (*at, key), value[key]
    elif isinstance(value, list | tuple):
        if isinstance(key, Every):
            yield from (((*at, str(index)), each) for index, each in enumerate(value))
        elif type(key) is int and 0 <= key < len(value):
            yield (*at, str(key)), value[key]


def _plain(path: Path) -> Path:
    """The path with any key in the place of those that are read from values."""
    return tuple(Every.VALUE if isinstance(step, tuple) else step for step in path)


# What an expression reads, once for each expression.

Scope = Mapping[str, Path]
_BOOLS = {"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in", "!_", "_&&_", "_||_", "In"}
_BOOLS |= {"matches", "startsWith", "endsWith", "contains"}
_NUMBERS = {"size", "int", "_*_", "_/_", "_%_", "-_"}


def reading(tree: Node) -> Reading:
    """Returns what an expression reads of GIVEN."""
    every = list(_walk(tree, Around({name: (name,) for name in GIVEN}, 1)))
    chains = {path for node, around in every if not around.inner and (path := _path(node, around.scope))}
    reads = {path for path in chains if not any(path[:length] in chains for length in range(1, len(path)))}
    compared = [(node, around.scope) for node, around in every if _compares(node)]
    nulls = [(each, scope) for node, scope in compared if _asks_for_null(node) for each in children(node)]
    return Reading(
        tuple(sorted(reads, key=str)),
        tuple(dict.fromkeys(found for node, around in every for found in _gone_over(node, around))),
        frozenset(_plain(path) for node, around in every for path in _opened(node, around.scope)),
        tuple(_compared(node, scope) for node, scope in compared if not _asks_for_null(node)),
        frozenset(_path(node, scope) for node, scope in nulls),
    )


class Around(msgspec.Struct, frozen=True):
    """What is around a node: the paths of names; 1 where its yes makes the expression truer, -1 where its no does, 0
    where neither can be told; and whether a longer path leads through it.
    """

    scope: Scope
    sign: int
    inner: bool = False


def _walk(node: Node, around: Around) -> Iterator[tuple[Node, Around]]:
    """Yields every node with what is around it."""
    yield node, around
    untold = Around(around.scope, 0)
    match node:
        case Field(of=of):
            yield from _walk(of, Around(around.scope, 0, bool(_path(of, around.scope))))
        case Apply(function="_[_]", arguments=(of, key)):
            yield from _walk(of, Around(around.scope, 0, bool(_path(of, around.scope))))
            yield from _walk(key, untold)
        case Apply(function="!_", arguments=(of,)):
            yield from _walk(of, Around(around.scope, -around.sign))
        case Each(item=item, over=over, inside=inside):
            yield from _walk(over, untold)
            path = _path(over, around.scope)
            within = {**around.scope, item: (*path, Every.ITEM) if path else ()}
            for each in inside:
                yield from _walk(each, Around(within, 0))
        case _:
            joins = isinstance(node, Apply) and node.function in ("_&&_", "_||_")
            for each in children(node):
                yield from _walk(each, Around(around.scope, around.sign) if joins else untold)


_COMPARING = ("_==_", "_!=_", "@in")


def _path(node: Node, scope: Scope) -> Path:
    """The path of a value of GIVEN; empty for anything else."""
    match node:
        case Name(name=name):
            return scope.get(name, ())
        case Field(of=of, name=name):
            above = _path(of, scope)
            return (*above, name) if above else ()
        case Apply(function="_[_]", arguments=(of, key)):
            above = _path(of, scope)
            return (*above, _step(key, scope)) if above else ()
    return ()


def _step(key: Node, scope: Scope) -> Step:
    if isinstance(key, Const) and isinstance(key.value, str | int):
        return key.value
    return _path(key, scope) or Every.VALUE


def _gone_over(node: Node, around: Around) -> Iterator[tuple[Path, bool]]:
    match node:
        case Apply(function="@in", arguments=(_, of)) | Each(over=of):
            if len(path := _path(of, around.scope)) > 1:  # a whole name is an object
                yield path, isinstance(node, Apply) and around.sign == -1


def _opened(node: Node, scope: Scope) -> Iterator[Path]:
    match node:
        case Field(of=of):
            yield _path(of, scope)
        case Apply(function="_[_]", arguments=(of, key)) if not isinstance(_step(key, scope), int):
            yield _path(of, scope)


def _compares(node: Node) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.function in _COMPARING


def _asks_for_null(node: Apply) -> bool:
    return node.function != "@in" and Const(None) in node.arguments


def _compared(node: Apply, scope: Scope) -> tuple[Operand, Operand, bool]:
    one, other = node.arguments
    if node.function != "@in":
        return _operand(one, scope), _operand(other, scope), False
    if isinstance(other, Many):
        sides = [_operand(item, scope) for item in other.items]
        literals = _either(sides)
        return _operand(one, scope), literals if len(literals.kinds) < 2 else Operand(), False
    return _operand(one, scope), Operand(paths=(path,) if (path := _path(other, scope)) else ()), True


def _operand(node: Node, scope: Scope) -> Operand:
    """A side of a comparison. One of which nothing is known has no kinds and no paths, and is compared as CEL does."""
    if path := _path(node, scope):
        return Operand(frozenset({"bool"})) if isinstance(node, Field) and node.asked else Operand(paths=(path,))
    match node:
        case Const(value=value):
            return Operand(frozenset({kind(value)}))
        case Each(builds=builds):
            return Operand(frozenset({"list" if builds else "bool"}))
        case Apply(function="_?_:_", arguments=(_, yes, no)):
            return _either([_operand(yes, scope), _operand(no, scope)])
        case Apply(function="_+_", arguments=arguments):
            return _either([_operand(each, scope) for each in arguments])
        case Apply(function=function):
            kinds = {"bool"} if function in _BOOLS else {"number"} if function in _NUMBERS else set()
            return Operand(frozenset(kinds))
    return Operand()


def _either(sides: list[Operand]) -> Operand:
    """One of several sides; where nothing is known of one of them, nothing is known."""
    if not all(side.kinds or side.paths for side in sides):
        return Operand()
    return Operand(
        frozenset(each for side in sides for each in side.kinds),
        tuple(path for side in sides for path in side.paths),
    )
