"""Subtrees and ranges: every one of every small tree, against the definition, with every mutation."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.tlog import subtree, tiles, tree
from audit.tlog.ranges import check_subtree
from audit.tlog.subtree import RangeProof
from audit.tlog.tree import EMPTY_ROOT, BadTree
from tests.core.tlog_naive import NaiveTree, StoredTiles, mutations
from tests.searching import drawn

SIZES = range(1, 101)
WORLD = NaiveTree([f"entry {number}".encode() for number in range(700)])
STRANGER = WORLD.leaves[699]


@pytest.fixture(scope="module")
def store() -> StoredTiles:
    """The tiles of every size up to 100, and of 600."""
    kept = StoredTiles()
    for size in SIZES:
        kept.write(tiles.growth(size - 1, WORLD.leaves[size - 1 : size], kept))
    kept.write(tiles.growth(100, WORLD.leaves[100:600], kept))
    return kept


def subtrees(size: int) -> list[tuple[int, int]]:
    """Every subtree that is not empty: start is a multiple of the power of two that holds the length."""
    found = []
    for start in range(size):
        for end in range(start + 1, size + 1):
            ceiling = 1
            while ceiling < end - start:
                ceiling *= 2
            if start % ceiling == 0:
                found.append((start, end))
    return found


def naive_proof(part: tuple[int, int], size: int) -> list[bytes]:
    return WORLD.subproof(*part, 0, size, True)


@pytest.mark.parametrize("size", SIZES)
def test_every_subtree_is_proven_to_be_a_part_of_its_tree(size, store):
    root = WORLD.mth(0, size)
    for part in subtrees(size):
        proof = subtree.consistency_proof(part, size, store)
        assert proof == naive_proof(part, size)
        assert subtree.verify_consistency(part, size, WORLD.mth(*part), root, proof)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 23, 31, 33])
def test_no_mutation_of_a_subtrees_proof_holds(size):
    root = WORLD.mth(0, size)
    for part in subtrees(size):
        proof, own = naive_proof(part, size), WORLD.mth(*part)
        for changed in mutations(proof, STRANGER):
            assert not subtree.verify_consistency(part, size, own, root, changed)
        for other in (STRANGER, b"", own[:-1]):
            assert not subtree.verify_consistency(part, size, other, root, proof)
            assert not subtree.verify_consistency(part, size, own, other, proof)
        for other_part in subtrees(size):
            if other_part != part:
                assert not subtree.verify_consistency(other_part, size, own, root, proof)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13, 16, 21, 33])
def test_every_leaf_of_every_subtree_is_proven_and_no_other(size, store):
    for part in subtrees(size):
        own = subtree.root(part, size, store)
        assert own == WORLD.mth(*part)
        for index in range(*part):
            proof = subtree.inclusion_proof(index, part, size, store)
            assert proof == WORLD.path(index, *part)
            assert subtree.verify_inclusion(index, part, WORLD.leaves[index], proof, own)
            for other in {part[0] - 1, part[1], index - 1, index + 1}:
                assert not subtree.verify_inclusion(other, part, WORLD.leaves[index], proof, own)
            for changed in mutations(proof, STRANGER):
                assert not subtree.verify_inclusion(index, part, WORLD.leaves[index], changed, own)


def test_what_is_no_subtree_has_no_proof():
    for part in ((1, 3), (2, 5), (2, 6), (1, 15), (3, 1), (-2, 0), (-1, 3)):
        with pytest.raises(BadTree):
            check_subtree(part)
        assert not subtree.verify_consistency(part, 16, STRANGER, STRANGER, [])
        assert not subtree.verify_inclusion(max(part), part, STRANGER, [], STRANGER)
    for part, size in (((0, 0), 5), ((4, 4), 5), ((0, 6), 5)):
        with pytest.raises(BadTree):
            subtree.consistency_proof(part, size, StoredTiles())


def test_the_empty_subtree_is_a_part_of_every_tree_but_holds_no_leaf():
    root = WORLD.mth(0, 5)
    for start in range(6):
        assert subtree.verify_consistency((start, start), 5, EMPTY_ROOT, root, [])
        assert not subtree.verify_consistency((start, start), 5, STRANGER, root, [])
        assert not subtree.verify_consistency((start, start), 5, EMPTY_ROOT, root, [EMPTY_ROOT])
        assert not subtree.verify_inclusion(start, (start, start), EMPTY_ROOT, [], EMPTY_ROOT)
    assert not subtree.verify_consistency((6, 6), 5, EMPTY_ROOT, root, [])


@pytest.mark.parametrize("end", SIZES)
def test_any_range_is_covered_by_at_most_two_subtrees_that_end_with_it(end):
    for start in range(end):
        found = subtree.find_subtrees(start, end)
        assert 1 <= len(found) <= 2
        assert found[0][0] <= start
        assert found[-1][1] == end
        assert all(one[1] == other[0] for one, other in itertools.pairwise(found))
        for part in found:
            check_subtree(part)
        assert 2 * (start - found[0][0]) < max(2, found[0][1] - found[0][0])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 31, 32, 33, 64, 100])
def test_every_range_of_a_tree_is_proven(size, store):
    root = WORLD.mth(0, size)
    for start in range(size):
        for end in range(start + 1, size + 1):
            proof = subtree.prove_range(start, end, size, store)
            assert subtree.verify_range(proof, WORLD.leaves[start:end], size, root)
            assert subtree.parse_range(json.loads(json.dumps(proof.as_json()))) == proof


@pytest.mark.parametrize("size", [2, 3, 7, 12, 16])
def test_a_range_with_anything_missing_added_swapped_or_moved_is_refused(size, store):
    root = WORLD.mth(0, size)
    for start in range(size):
        for end in range(start + 1, size + 1):
            proof, leaves = subtree.prove_range(start, end, size, store), WORLD.leaves[start:end]
            assert not any(subtree.verify_range(proof, wrong, size, root) for wrong in mutations(leaves, STRANGER))
            for lie in _lies(proof):
                assert not subtree.verify_range(lie, leaves, size, root), lie
            assert not subtree.verify_range(proof, leaves, size, STRANGER)


def _lies(proof: RangeProof) -> list[RangeProof]:
    start, end = proof.start, proof.end
    lies = [RangeProof(start + by, end + by, proof.before, proof.parts) for by in (-1, 1)]
    lies += [RangeProof(start, end, tuple(before), proof.parts) for before in mutations(list(proof.before), STRANGER)]
    for at, part in enumerate(proof.parts):
        for changed in mutations(list(part), STRANGER):
            parts = (*proof.parts[:at], tuple(changed), *proof.parts[at + 1 :])
            lies.append(RangeProof(start, end, proof.before, parts))
    lies += [RangeProof(start, end, proof.before, proof.parts[:-1]), RangeProof(start, end, (), ())]
    return [*lies, RangeProof(start, end, proof.before, (*proof.parts, ()))]


@given(st.data())
@settings(max_examples=drawn(60))
def test_a_range_over_many_tiles_is_proven_with_few_hashes(store, data):
    start = data.draw(st.integers(0, 599))
    end = data.draw(st.integers(start + 1, 600))
    store.reads.clear()
    proof = subtree.prove_range(start, end, 600, store)
    assert len(store.reads) <= 4
    assert len(proof.before) + sum(map(len, proof.parts)) <= 40
    assert subtree.verify_range(proof, WORLD.leaves[start:end], 600, WORLD.mth(0, 600))


def test_a_prefix_is_a_subtree_like_any_other():
    for size in SIZES:
        for old in range(1, size + 1):
            proof = WORLD.proof(old, size)
            roots = WORLD.mth(0, old), WORLD.mth(0, size)
            assert subtree.verify_consistency((0, old), size, *roots, proof)
            assert tree.verify_consistency(old, size, *roots, proof)


@pytest.mark.parametrize("range_", [(0, 0), (3, 3), (4, 3), (-1, 3)])
def test_an_empty_or_reversed_range_has_no_proof(range_):
    with pytest.raises(BadTree):
        subtree.prove_range(*range_, 5, StoredTiles())
    assert not subtree.verify_range(RangeProof(*range_, (), ()), [], 5, WORLD.mth(0, 5))


@pytest.mark.parametrize(
    "change",
    [
        {"start": "0"},
        {"end": 1.0},
        {"start": True},
        {"before": "00"},
        {"before": ["00"]},
        {"parts": [["zz" * 32]]},
        {"x": 1},
    ],
)
def test_a_range_proof_in_any_other_form_is_refused(change):
    with pytest.raises(BadTree):
        subtree.parse_range(RangeProof(0, 1, (), ((),)).as_json() | change)


def test_the_well_known_tree_of_eight_leaves_has_the_published_roots_and_subtrees():
    entries = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    known = NaiveTree([bytes.fromhex(entry) for entry in entries])
    root = bytes.fromhex("5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328")
    assert tree.root_of(known.leaves) == known.mth(0, 8) == root
    published = {
        (0, 6): "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        (2, 4): "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        (4, 7): "837dbb152e9b079010717e84e865da4ebc0fa198a806d59d31bf15accef22d0e",
    }
    for part, own in published.items():
        assert subtree.verify_consistency(part, 8, bytes.fromhex(own), root, known.subproof(*part, 0, 8, True))
