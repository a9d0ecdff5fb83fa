"""What an expression is made of: the checked syntax tree of the CEL compiler, read from its serialized form.

The compiler hands its tree out as bytes only (`cel.expr.CheckedExpr`, cel-spec's syntax.proto and checked.proto), so
the few wire types that occur are read here. Macros such as `all` and `map` are expanded already: what is left of them
are comprehensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


class Const(msgspec.Struct, frozen=True):
    """A literal: None, bool, int, float, str or bytes."""

    value: Any


class Name(msgspec.Struct, frozen=True):
    """A variable: declared, or one of a comprehension's own."""

    name: str


class Field(msgspec.Struct, frozen=True):
    """`of.name`, or with `asked` the question `has(of.name)`."""

    of: Node
    name: str
    asked: bool


class Apply(msgspec.Struct, frozen=True):
    """A function or operator (`_&&_`, `_+_`) on its arguments, a method's target first."""

    function: str
    arguments: tuple[Node, ...]


class Many(msgspec.Struct, frozen=True):
    """A list or map literal with all that stands in it."""

    items: tuple[Node, ...]


class Each(msgspec.Struct, frozen=True):
    """A comprehension over `over`, item by item as `item`; `builds` when it makes a list, as map and filter do."""

    item: str
    over: Node
    inside: tuple[Node, ...]
    builds: bool


Node = Const | Name | Field | Apply | Many | Each
Wire = dict[int, list[Any]]
_CHECKED, _EXPR = 2, 4  # where the tree stands: Any.value, CheckedExpr.expr


def parse(serialized: bytes) -> Node:
    """The tree of a compiled expression's serialized form."""
    return _node(_fields(_fields(_fields(serialized)[_CHECKED][0])[_EXPR][0]))


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below."""
    match node:
        case Field(of=of):
            return (of,)
        case Apply(arguments=arguments):
            return arguments
        case Many(items=items):
            return items
        case Each(over=over, inside=inside):
            return (over, *inside)
    return ()


def depth_of_loops(node: Node) -> int:
    """How deep comprehensions stand in each other; what one goes over is gone through once, before it."""
    if isinstance(node, Each):
        return max(depth_of_loops(node.over), 1 + max(map(depth_of_loops, node.inside)))
    return max(map(depth_of_loops, children(node)), default=0)


def _fields(data: bytes) -> Wire:
    """One protobuf message as {field number: values}."""
    found: Wire = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 1:
            value, at = data[at : at + 8], at + 8
        else:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        found.setdefault(key >> 3, []).append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[Any, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _node(fields: Wire) -> Node:
    for number, read in _READERS.items():
        if number in fields:
            return read(_fields(fields[number][0]))
    return Const(None)


def _below(fields: Wire, number: int) -> tuple[Node, ...]:
    return tuple(_node(_fields(value)) for value in fields.get(number, ()))


def _text(fields: Wire, number: int) -> str:
    return fields[number][0].decode() if number in fields else ""


def _const(fields: Wire) -> Node:
    if 2 in fields:
        return Const(bool(fields[2][0]))
    if 3 in fields:
        value = fields[3][0]
        return Const(value - (1 << 64) if value >= 1 << 63 else value)
    if 6 in fields:
        return Const(fields[6][0].decode())
    if 1 in fields:
        return Const(None)
    return Const(next(iter(fields.values()), [None])[0])


def _apply(fields: Wire) -> Node:
    return Apply(_text(fields, 2), (*_below(fields, 1), *_below(fields, 3)))


def _select(fields: Wire) -> Node:
    return Field(_below(fields, 1)[0], _text(fields, 2), bool(fields.get(3, [0])[0]))


def _map(fields: Wire) -> Node:
    entries = [_fields(entry) for entry in fields.get(2, ())]
    return Many(tuple(part for entry in entries for part in (*_below(entry, 3), *_below(entry, 4))))


def _each(fields: Wire) -> Node:
    inside = tuple(node for number in (4, 5, 6, 7) for node in _below(fields, number))
    first = _fields(fields[4][0]) if 4 in fields else {}
    return Each(_text(fields, 1), _below(fields, 2)[0], inside, builds=7 in first)


_READERS = {
    3: _const,
    4: lambda fields: Name(_text(fields, 1)),
    5: _select,
    6: _apply,
    7: lambda fields: Many(_below(fields, 1)),
    8: _map,
    9: _each,
}
