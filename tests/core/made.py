"""Hypothesis strategies for the engine: JSON values as they arrive, and events of every kind from their annotations."""

from __future__ import annotations

import types
from decimal import Decimal
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from agentstate.engine import events as ev
from agentstate.engine.charts.state import Invoked


def _is_written_as_a_fraction(number: Decimal) -> bool:
    """As JSON's numbers with a point or an exponent arrive; the others arrive as int."""
    return not set(str(number)).isdisjoint(".E")


decimals = st.decimals(allow_nan=False, allow_infinity=False).filter(_is_written_as_a_fraction)
scalars = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | decimals | st.text(max_size=12)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=6), values, max_size=4)
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    Any: values,
    str: st.text(max_size=12),
    int: st.integers(-(2**53), 2**53),
    bool: st.booleans(),
    type(None): st.none(),
    msgspec.UnsetType: st.just(msgspec.UNSET),
    dict[str, Invoked]: st.just({}),  # charts in charts in charts would have no end
}


def of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of an annotation as events use them."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (Union, types.UnionType):
        return st.one_of(*(of(each) for each in inner))
    if origin is tuple:
        return st.lists(of(inner[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(max_size=6), of(inner[1]), max_size=4)
    return record(hint)


def record(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Records of a msgspec struct."""
    hints = get_type_hints(kind)
    fields = {each.name: each for each in msgspec.structs.fields(kind)}
    made = {name: of(hints[name]) for name in fields if name != "v"}
    if "v" in fields:  # the form that is written today
        made["v"] = st.just(fields["v"].default)
    return st.builds(kind, **made)


EVENTS = {str(kind.__struct_config__.tag): record(kind) for kind in ev.EVENTS}
