"""Growth is shown by a frontier and nodes exactly where an RFC 9162 consistency proof would hold."""

from __future__ import annotations

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.tlog import growth, headleaf, tree
from audit.tlog.checkpoint import BadCheckpoint, Checkpoint

LEAVES = [tree.leaf_hash(b"%d" % number) for number in range(700)]


def frontier(size: int) -> bytes:
    return tree.append(b"", 0, LEAVES[:size])


@given(st.integers(0, 2**40), st.lists(st.integers(0, 2**20), min_size=1, max_size=4))
def test_parts_are_the_largest_perfect_subtrees_one_behind_the_other(old, steps):
    sizes = [old + sum(steps[: number + 1]) for number in range(len(steps))]
    at = old
    for start, end in growth.parts(old, sizes):
        width = end - start
        assert (start, width & (width - 1), start % width) == (at, 0, 0)
        limit = min(size for size in sizes if size > start)
        assert start % (2 * width) or start + 2 * width > limit, "a larger one would fit"
        at = end
    assert at == sizes[-1]


@given(st.data())
def test_what_grew_folds_to_the_root_of_the_whole_and_to_those_on_the_way(data):
    old = data.draw(st.integers(0, 600))
    new = data.draw(st.integers(old, 700))
    via = sorted(data.draw(st.sets(st.integers(old, new), max_size=3)) - {old, new})
    given_ = growth.nodes(old, b"".join(LEAVES[old:new]), via)
    grown, roots = growth.fold(frontier(old), old, new, given_, via, via)
    assert grown == frontier(new)
    assert roots == {size: tree.root_of(LEAVES[:size]) for size in via}


@given(st.data())
def test_one_changed_hash_folds_to_another_root(data):
    old = data.draw(st.integers(0, 400))
    new = data.draw(st.integers(old + 1, 700))
    whole = bytearray(frontier(old) + growth.nodes(old, b"".join(LEAVES[old:new])))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1
    split = old.bit_count() * 32
    grown, _ = growth.fold(bytes(whole[:split]), old, new, bytes(whole[split:]))
    assert tree.root(grown, new) != tree.root_of(LEAVES[:new])


@pytest.mark.parametrize(
    ("old", "new", "short", "length", "why"),
    [
        (5, 9, 0, 32, "got 1 nodes, want 3"),
        (5, 9, 0, 160, "got 5 nodes, want 3"),
        (5, 9, 1, 128, "the frontier or the nodes have another length"),
        (5, 9, 0, 127, "the frontier or the nodes have another length"),
        (9, 5, 0, 0, "the frontier or the nodes have another length"),
        (-1, 3, 0, 128, "the frontier or the nodes have another length"),
    ],
)
def test_another_number_of_hashes_is_refused_in_these_words(old, new, short, length, why):
    held = frontier(max(old, 0))
    with pytest.raises(tree.BadTree) as refused:
        growth.fold(held[short:], old, new, b"x" * length)
    assert refused.value.args == (f"growth from {old} to {new} leaves: {why}",)


def test_few_leaves_are_handed_over_one_by_one_and_of_more_the_subtrees():
    assert growth.nodes(3, b"".join(LEAVES[3 : 3 + growth.FEW])) == b"".join(LEAVES[3 : 3 + growth.FEW])
    assert len(growth.nodes(3, b"".join(LEAVES[3 : 4 + growth.FEW]))) == 32 * len(growth.parts(3, [4 + growth.FEW]))


HEAD = Checkpoint("log.example/s/1", 5, bytes(32))
BEFORE = headleaf.Before(7, bytes(range(32)))


@pytest.mark.parametrize("before", [None, BEFORE, headleaf.Before(0, bytes(range(32)))])
def test_a_leaf_of_a_head_is_read_as_it_was_written(before):
    assert headleaf.parse(headleaf.body(HEAD, before)) == (HEAD, before)


LINES = b"x,after,after 7,after 7 x,after -7 AAAA,after 7 AAAA,after  7 %b,after -7 %b,".split(b",")


@pytest.mark.parametrize("more", [*(line + b"\n" for line in LINES), b"\xff"])
def test_another_leaf_is_refused(more):
    more = more.replace(b"%b", base64.b64encode(BEFORE.leaf))
    with pytest.raises(BadCheckpoint) as refused:
        headleaf.parse(headleaf.body(HEAD, None) + more)
    assert refused.value.args == ("it is no leaf that says the head of a log",)


def test_one_byte_changed_in_a_leaf_is_another_head_or_none():
    whole = headleaf.body(HEAD, BEFORE)
    for at in range(len(whole)):
        with contextlib.suppress(BadCheckpoint):
            assert headleaf.parse(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]) != (HEAD, BEFORE)
