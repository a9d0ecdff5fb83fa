"""The tree, against its definition, for every size of a small world, and against the public vectors."""

from __future__ import annotations

import base64
import json

import pytest

from audit import verify
from audit.tlog import tree
from tests.core.tlog_world import naive_root, shared

SIZES = range(65)
ENTRIES = [f"entry {number}".encode() for number in range(65)]
LEAVES = [tree.leaf_hash(entry) for entry in ENTRIES]
ROOTS = [naive_root(ENTRIES[:size]) for size in SIZES]


@pytest.mark.parametrize("size", SIZES)
def test_appending_one_by_one_gives_the_root_of_the_definition(size):
    frontier = b""
    for number in range(size):
        frontier = tree.append(frontier, number, [LEAVES[number]])
    assert tree.root(frontier, size) == tree.root_of(LEAVES[:size]) == ROOTS[size]


@pytest.mark.parametrize("size", SIZES)
def test_appending_in_two_batches_is_the_same_however_it_is_split(size):
    whole = tree.append(b"", 0, LEAVES[:size])
    for first in range(size + 1):
        begun = tree.append(b"", 0, LEAVES[:first])
        assert tree.append(begun, first, LEAVES[first:size]) == whole


@pytest.mark.parametrize("size", SIZES)
def test_the_verifiers_own_tree_gives_the_same_root(size):
    own = verify.Tree()
    for entry in ENTRIES[:size]:
        own.add(entry)
    assert own.root() == ROOTS[size]


def test_every_tree_extends_the_empty_one_and_only_that_root():
    empty, five = tree.EMPTY_ROOT, ROOTS[5]
    assert tree.extends(0, 5, empty, five, [])
    assert tree.extends(0, 0, empty, empty, [])
    assert tree.extends(3, 5, ROOTS[3], five, tree.consistency_proof(3, LEAVES[:5]))
    refused = [(0, 5, ROOTS[1], five, []), (0, 5, empty, five, [ROOTS[1]]), (0, 0, empty, five, [])]
    refused += [(0, 5, empty, five[:-1], []), (0, -1, empty, five, []), (-1, 5, empty, five, []), (0, 0, b"", b"", [])]
    refused += [(5, 5, five, ROOTS[4], []), (0, 0, five, five, []), (3, 5, ROOTS[3], five, [])]
    assert not any(tree.extends(*each) for each in refused)


def test_nothing_is_proven_of_an_empty_tree():
    for old, size, new_root in ((0, 5, ROOTS[5]), (0, 0, tree.EMPTY_ROOT)):
        assert not tree.verify_consistency(old, size, tree.EMPTY_ROOT, new_root, [])
        assert not tree.verify_consistency(old, size, tree.EMPTY_ROOT, new_root, [new_root])
    assert not tree.verify_consistency(0, 0, b"", b"", [])
    assert not tree.verify_inclusion(0, 0, LEAVES[0], [], LEAVES[0])
    assert not tree.verify_inclusion(0, 0, b"", [], tree.EMPTY_ROOT)


@pytest.mark.parametrize("root", [b"", bytes(31), bytes(33), bytes(64)])
def test_equal_roots_that_are_no_hashes_prove_nothing(root):
    assert not tree.verify_consistency(1, 1, root, root, [])
    assert not tree.verify_inclusion(0, 1, root, [], root)
    assert not tree.verify_inclusion(0, 2, LEAVES[0], [root], ROOTS[2])


@pytest.mark.parametrize(("frontier", "size"), [(b"", 1), (b"x" * 32, 0), (b"x" * 32, 3), (b"x" * 33, 1), (b"", -1)])
def test_a_frontier_that_does_not_fit_its_size_is_refused(frontier, size):
    with pytest.raises(tree.BadTree, match="got"):
        tree.root(frontier, size)


@pytest.mark.parametrize("leaf", [b"", b"x" * 31, b"x" * 33])
def test_a_leaf_that_is_no_hash_is_refused(leaf):
    with pytest.raises(tree.BadTree, match="want 32"):
        tree.append(b"", 0, [leaf])
    assert not tree.verify_inclusion(0, 1, leaf, [], leaf)


@pytest.mark.parametrize("index", [-1, 3])
def test_there_is_no_proof_for_a_leaf_outside_the_tree(index):
    with pytest.raises(tree.BadTree):
        tree.inclusion_proof(index, LEAVES[:3])
    assert not tree.verify_inclusion(index, 3, LEAVES[0], [LEAVES[1]], ROOTS[3])


def test_the_public_inclusion_vectors_say_the_same():
    files = sorted(shared("rfc6962-inclusion").rglob("*.json"))
    assert len(files) == 98
    for file in files:
        case = json.loads(file.read_text())
        proof = [base64.b64decode(value) for value in case["proof"] or []]
        leaf, root = (base64.b64decode(case[name] or "") for name in ("leafHash", "root"))
        holds = tree.verify_inclusion(case["leafIdx"], case["treeSize"], leaf, proof, root)
        assert holds is not case["wantErr"], (file, case["desc"])
