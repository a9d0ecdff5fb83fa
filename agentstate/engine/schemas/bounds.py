"""How large a JSON value may be before anything is done with it: depth, count, text, digits.

The walk goes level by level and never recurses, so a value that is 10,000 deep is refused after 33 steps.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from agentstate.engine.schemas.refusals import BreaksSchema

_LARGEST = 10**400


class Bounds(msgspec.Struct, frozen=True):
    """What a value may amount to. `nodes` counts every object, array and scalar; `text` characters, keys included."""

    depth: int = 32
    nodes: int = 100_000
    text: int = 1_000_000


USUAL = Bounds()


def check(value: Any, at: str = "value", bounds: Bounds = USUAL) -> None:
    """Refuse what is too large, or no JSON of ours. Raises BreaksSchema with one of the rules `max_depth`,
    `max_nodes`, `max_text`, `max_digits`, `float`, `text`, `not_json`.
    """
    level, nodes, text = [value], 0, 0
    for _ in range(bounds.depth + 1):
        nodes += len(level)
        if nodes > bounds.nodes:
            raise BreaksSchema(at, "max_nodes", f"at most {bounds.nodes} values")
        below: list[Any] = []
        for node in level:
            text += len(node) if type(node) is str and node.isascii() else _taken(node, below, value, at)
        if text > bounds.text:
            raise BreaksSchema(at, "max_text", f"at most {bounds.text} characters")
        if not below:
            return
        level = below
    raise BreaksSchema(at, "max_depth", f"at most {bounds.depth} levels")


def _taken(node: Any, below: list[Any], whole: Any, at: str) -> int:
    """Note what stands below `node`; the characters it holds itself. Raises BreaksSchema."""
    kind = type(node)
    if kind is str:
        _must_be_text(node, whole, at)
        return len(node)
    if kind is dict:
        below.extend(node.values())
        return _of_keys(node, whole, at)
    if kind is list or kind is tuple:
        below.extend(node)
    elif kind is int:
        if not -_LARGEST < node < _LARGEST:
            raise BreaksSchema(_where(whole, node, at), "max_digits", "at most 400 digits")
    elif kind is Decimal:
        _must_be_a_number(node, whole, at)
    elif kind is float:
        raise BreaksSchema(_where(whole, node, at), "float", "want an integer or an exact decimal")
    elif node is not None and kind is not bool:
        raise BreaksSchema(_where(whole, node, at), "not_json", f"got {kind.__name__}")
    return 0


def _of_keys(node: dict[Any, Any], whole: Any, at: str) -> int:
    try:
        if (keys := "".join(node)).isascii():
            return len(keys)
    except TypeError:  # a key that is no text: said below, with its place
        pass
    return sum(_key(key, node, whole, at) for key in node)


def _key(key: Any, node: dict[Any, Any], whole: Any, at: str) -> int:
    if type(key) is not str:
        raise BreaksSchema(_where(whole, node, at), "not_json", f"got a key of type {type(key).__name__}")
    _must_be_text(key, whole, at)
    return len(key)


def _must_be_text(text: str, whole: Any, at: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BreaksSchema(_where(whole, text, at), "text", "a lone surrogate is not text") from None


def _must_be_a_number(number: Decimal, whole: Any, at: str) -> None:
    if not number.is_finite():
        raise BreaksSchema(_where(whole, number, at), "not_json", "not a finite number")
    if abs(number.adjusted()) > 400 or len(number.as_tuple().digits) > 400:
        raise BreaksSchema(_where(whole, number, at), "max_digits", "at most 400 digits")


def _where(whole: Any, fault: Any, at: str) -> str:
    """The path at which `fault` stands. It is searched only once something is wrong."""
    places = [(at, whole)]
    for path, node in places:
        if node is fault:
            return path
        if isinstance(node, dict):
            places += [(f"{path}.{str(key)[:50]}", item) for key, item in node.items()]
        elif isinstance(node, list | tuple):
            places += [(f"{path}.{index}", item) for index, item in enumerate(node)]
    return at
