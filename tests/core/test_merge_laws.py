"""The laws of concurrent change: who arrives first makes no difference, and nothing but a typed refusal comes out."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine.merge import three_way
from agentstate.engine.merge.rules import PathRule, Rules
from agentstate.engine.merge.three_way import PathChange, Versions, written
from agentstate.engine.merge.values import same
from agentstate.errors import Refused
from tests.core.made import decimals, values
from tests.searching import drawn

KINDS = ("counter", "set", "list", "maximum", "minimum", "last")
RULES = Rules(tuple(PathRule(f"state.{kind}", merge=kind) for kind in KINDS))  # type: ignore[arg-type]
numbers = st.integers(-50, 50) | decimals.filter(
    lambda number: abs(number.adjusted()) < 12 and number.as_tuple().exponent > -12
)  # type: ignore[operator]
elements = st.sampled_from(["a", "b", 1, True, {"minor": 1, "currency": "USD"}])
OF_KIND: dict[str, st.SearchStrategy[Any]] = {
    "counter": numbers,
    "set": st.lists(elements, max_size=4),
    "list": st.lists(elements, max_size=3),
    "maximum": numbers,
    "minimum": numbers,
    "last": values,
}


class Log:
    """A pad that changes arrive at, one entry each; `as_of` says what somebody saw who had read so many entries."""

    def __init__(self, pad: dict[str, Any]) -> None:
        self.pads = [pad]
        self.marks: dict[str, tuple[str, ...]] = {}
        self.applied: set[str] = set()

    @property
    def pad(self) -> dict[str, Any]:
        return self.pads[-1]

    def arrive(self, change: str, path: str, value: Any, seen: int) -> None:
        if change in self.applied:
            return
        self.applied.add(change)
        versions = Versions(self.pads[seen], self.pad, seen, len(self.pads) - 1, self.marks)
        outcome = three_way.merge([PathChange(f"state.{path}", value)], change, versions, RULES)
        for write in outcome.writes:
            self.marks[write.path] = write.marks
        self.pads.append(written(self.pad, outcome.writes))


def wanted(kind: str, base: dict[str, Any], value: Any) -> Any:
    """What somebody wants who saw `base`: to a list they append."""
    return [*base.get(kind, []), *value] if kind == "list" else value


@pytest.mark.parametrize("kind", KINDS)
def test_changes_that_saw_the_same_merge_alike_in_any_order(kind):
    @settings(max_examples=drawn(60))
    @given(data=st.data())
    def law(data: st.DataObject) -> None:
        base = {kind: data.draw(OF_KIND[kind])} if data.draw(st.booleans()) else {}
        changes = [(f"c{n}", wanted(kind, base, data.draw(OF_KIND[kind]))) for n in range(data.draw(st.integers(1, 4)))]
        ends = []
        for order in (changes, data.draw(st.permutations(changes)), changes + data.draw(st.permutations(changes))):
            log = Log(base)
            for change, value in order:
                log.arrive(change, kind, value, seen=0)
            ends.append(log.pad)
        assert same(ends[0], ends[1])  # any order
        assert same(ends[0], ends[2])  # and each counts once

    law()


@pytest.mark.parametrize("kind", KINDS)
def test_one_who_saw_only_the_beginning_may_arrive_before_or_after_one_who_saw_more(kind):
    @settings(max_examples=drawn(60))
    @given(data=st.data())
    def law(data: st.DataObject) -> None:
        base = {kind: data.draw(OF_KIND[kind])}
        late = wanted(kind, base, data.draw(OF_KIND[kind]))
        early, then = data.draw(OF_KIND[kind]), data.draw(OF_KIND[kind])
        one, other = Log(base), Log(base)
        for log in (one, other):
            log.arrive("early", kind, wanted(kind, base, early), seen=0)
        seen = one.pad
        one.arrive("late", kind, late, seen=0)
        one.arrive("then", kind, wanted(kind, seen, then), seen=1)
        other.arrive("then", kind, wanted(kind, seen, then), seen=1)
        other.arrive("late", kind, late, seen=0)
        assert same(one.pad, other.pad)

    law()


pads = st.dictionaries(st.sampled_from("abc"), values | st.dictionaries(st.sampled_from("xyz"), values), max_size=3)


def change_to(base: dict[str, Any], pad: dict[str, Any]) -> list[PathChange]:
    """The change that makes `pad` of `base`."""
    return [
        PathChange(f"state.{key}", pad.get(key), remove=key not in pad)
        for key in sorted(base.keys() | pad.keys())
        if key not in pad or key not in base or not same(base[key], pad[key])
    ]


@settings(max_examples=drawn(200))
@given(base=pads, ours=pads)
def test_nobody_else_changed_anything_so_all_is_as_it_was_wanted(base, ours):
    changes = change_to(base, ours)
    if changes:
        outcome = three_way.merge(changes, "c", Versions(base, base, 0, 0), Rules())
        assert not outcome.clashes
        assert same(written(base, outcome.writes), ours)


@settings(max_examples=drawn(200))
@given(base=pads, ours=pads, theirs=pads)
def test_two_changes_that_do_not_touch_both_hold_and_a_clash_writes_nothing_there(base, ours, theirs):
    changes = change_to(base, ours)
    if not changes:
        return
    outcome = three_way.merge(changes, "c", Versions(base, theirs, 0, 0), Rules())
    after = written(theirs, outcome.writes)
    wrote = [write.path for write in outcome.writes] + [clash.path for clash in outcome.clashes]
    for key in theirs:
        if not any(path == f"state.{key}" or path.startswith(f"state.{key}.") for path in wrote):
            assert same(after[key], theirs[key])
    if not outcome.clashes:
        again = three_way.merge(changes, "c", Versions(base, after, 0, 0), Rules())
        assert same(written(after, again.writes), after)


anything: st.SearchStrategy[Any] = st.recursive(
    values | st.floats() | st.text(st.characters(), max_size=3) | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.integers() | st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)
paths = st.sampled_from(
    [f"state.{kind}" for kind in KINDS] + ["state.a", "state.a.b", "state", "", "state..a"]
) | st.text(max_size=8)
_numbers = count()


@settings(max_examples=drawn(300))
@given(changes=st.lists(st.builds(PathChange, paths, anything, st.booleans()), max_size=4), base=pads, now=pads)
def test_nothing_else_than_a_typed_refusal_comes_out(changes, base, now):
    with suppress(Refused):
        three_way.merge(changes, f"c{next(_numbers)}", Versions(base, now, 0, 3), RULES)
