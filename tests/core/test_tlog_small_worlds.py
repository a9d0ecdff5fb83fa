"""Every tree of up to 100 leaves, every pair of sizes, every mutation: proofs hold where they should and only there."""

from __future__ import annotations

import pytest

from audit.tlog import tree
from tests.core.tlog_naive import NaiveTree, mutations

SIZES = range(1, 101)
WORLD = NaiveTree([f"entry {number}".encode() for number in range(102)])
ROOTS = [WORLD.mth(0, size) for size in range(102)]
LEAVES = WORLD.leaves
STRANGER = LEAVES[101]
PATHS = {(index, size): WORLD.path(index, 0, size) for size in range(1, 102) for index in range(size)}
PROOFS = {(old, size): WORLD.proof(old, size) for size in range(1, 102) for old in range(1, size + 1)}


@pytest.mark.parametrize("size", SIZES)
def test_every_leaf_is_proven_as_the_definition_says(size):
    frontier = tree.append(b"", 0, LEAVES[:size])
    assert tree.root(frontier, size) == tree.root_of(LEAVES[:size]) == ROOTS[size]
    for index in range(size):
        proof = PATHS[index, size]
        assert tree.inclusion_proof(index, LEAVES[:size]) == proof
        assert tree.root_from_inclusion(index, size, LEAVES[index], proof) == ROOTS[size]


@pytest.mark.parametrize("size", SIZES)
def test_no_mutation_of_an_inclusion_proof_holds(size):
    for index in range(size):
        proof, leaf, root = PATHS[index, size], LEAVES[index], ROOTS[size]
        assert tree.verify_inclusion(index, size, leaf, proof, root)
        assert not any(tree.verify_inclusion(index, size, leaf, bad, root) for bad in mutations(proof, STRANGER))
        for other in (*range(-1, index), *range(index + 1, size + 1)):
            assert not tree.verify_inclusion(other, size, leaf, proof, root)
            assert not tree.verify_inclusion(index, size, LEAVES[other], proof, root)
        for wrong in (ROOTS[size - 1], ROOTS[size + 1], b"", root[:-1], root + b"\x00"):
            assert not tree.verify_inclusion(index, size, leaf, proof, wrong)
        for wrong in (b"", leaf[:-1], leaf + b"\x00", root if size > 1 else STRANGER):
            assert not tree.verify_inclusion(index, size, wrong, proof, root)


@pytest.mark.parametrize("size", SIZES)
def test_an_inclusion_proof_of_another_size_holds_only_where_the_path_is_the_same(size):
    for index in range(size):
        proof = PATHS[index, size]
        for other in range(102):
            held = tree.verify_inclusion(index, other, LEAVES[index], proof, ROOTS[other])
            assert held is (PATHS.get((index, other)) == proof)


@pytest.mark.parametrize("size", SIZES)
def test_every_pair_of_sizes_is_proven_as_the_definition_says(size):
    for old in range(1, size + 1):
        proof = PROOFS[old, size]
        assert tree.consistency_proof(old, LEAVES[:size]) == proof
        assert tree.verify_consistency(old, size, ROOTS[old], ROOTS[size], proof)
        assert tree.extends(old, size, ROOTS[old], ROOTS[size], proof)


@pytest.mark.parametrize("size", SIZES)
def test_no_mutation_of_a_consistency_proof_holds(size):
    for old in range(1, size + 1):
        proof, roots = PROOFS[old, size], (ROOTS[old], ROOTS[size])
        assert not any(tree.verify_consistency(old, size, *roots, bad) for bad in mutations(proof, STRANGER))
        for wrong in (STRANGER, b"", roots[0][:-1], roots[0] + b"\x00"):
            assert not tree.verify_consistency(old, size, wrong, roots[1], proof)
            assert not tree.verify_consistency(old, size, roots[0], wrong, proof)
        assert old == size or not tree.verify_consistency(old, size, roots[1], roots[0], proof)
        assert old == size or not tree.verify_consistency(size, old, *roots, proof)


@pytest.mark.parametrize("size", SIZES)
def test_a_consistency_proof_between_other_trees_proves_nothing(size):
    for old in range(1, size + 1):
        proof = PROOFS[old, size]
        for other in range(102):
            assert other == old or not tree.verify_consistency(other, size, ROOTS[other], ROOTS[size], proof)
        for other in range(old, 102):
            held = tree.verify_consistency(old, other, ROOTS[old], ROOTS[other], proof)
            assert held is (PROOFS[old, other] == proof)
