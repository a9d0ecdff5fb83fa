"""The Merkle tree of RFC 6962 (SHA-256), kept as a frontier, and its proofs.

A *frontier* of a tree of `size` leaves is the concatenation of the 32-byte roots of its perfect
subtrees, largest first: one for each bit set in `size`. It is all that appending needs, so a session's
head row holds it and appending costs one hash on average, whatever the size.

Terms and algorithms: RFC 6962 section 2.1 and RFC 9162 section 2.1. This module does not know what a leaf
means; it never sees more than bytes and hashes. Checked in tests/core/test_tlog_tree.py against a naive tree
(every size up to 64) and against the public inclusion vectors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

HASH_SIZE = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()


class BadTree(ValueError):
    """A frontier, a hash or a proof does not have the shape that its tree size asks for."""


def leaf_hash(data: bytes) -> bytes:
    """SHA-256(0x00 || data): the hash of one entry."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right): the prefix keeps a node from passing as a leaf."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def append(frontier: bytes, size: int, leaves: Sequence[bytes]) -> bytes:
    """The frontier after `leaves` (leaf hashes, in order) were added to a tree of `size` leaves."""
    subtrees = _split(frontier, size)
    for leaf in leaves:
        _check_hash(leaf)
        carried = leaf
        # Each trailing 1 bit of size is a perfect subtree that the new leaf completes, as in binary counting.
        remaining = size
        while remaining & 1:
            carried = node_hash(subtrees.pop(), carried)
            remaining >>= 1
        subtrees.append(carried)
        size += 1
    return b"".join(subtrees)


def root(frontier: bytes, size: int) -> bytes:
    """The tree's root (32 bytes); of the empty tree SHA-256 of nothing."""
    subtrees = _split(frontier, size)
    if not subtrees:
        return EMPTY_ROOT
    result = subtrees.pop()
    while subtrees:
        result = node_hash(subtrees.pop(), result)
    return result


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root over all these leaf hashes."""
    return root(append(b"", 0, leaves), len(leaves))


def inclusion_proof(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PATH(index, leaves) of RFC 6962 section 2.1.1, nearest hash first."""
    if not 0 <= index < len(leaves):
        raise BadTree(f"leaf index: got {index}, want 0 to {len(leaves) - 1}")
    if len(leaves) == 1:
        return []
    split = largest_power_below(len(leaves))
    if index < split:
        return [*inclusion_proof(index, leaves[:split]), root_of(leaves[split:])]
    return [*inclusion_proof(index - split, leaves[split:]), root_of(leaves[:split])]


def root_from_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes]) -> bytes:
    """The root to which `proof` leads from the leaf hash at `index` of `size` (RFC 9162 section 2.1.3.2)."""
    if not 0 <= index < size:
        raise BadTree(f"leaf index: got {index}, want 0 to {size - 1}")
    for value in (leaf, *proof):
        _check_hash(value)
    inner = (index ^ (size - 1)).bit_length()
    want = inner + (index >> inner).bit_count()
    if len(proof) != want:
        raise BadTree(f"inclusion proof: got {len(proof)} hashes, want {want}")
    result = leaf
    for level, sibling in enumerate(proof):
        # Below `inner` the path may turn left or right; above it, every hash is a left neighbour.
        on_the_right = level >= inner or (index >> level) & 1
        result = node_hash(sibling, result) if on_the_right else node_hash(result, sibling)
    return result


def verify_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], expected_root: bytes) -> bool:
    """Whether `leaf` is at `index` of the tree of `size` with `expected_root`; a malformed proof is False."""
    try:
        return root_from_inclusion(index, size, leaf, proof) == expected_root
    except BadTree:
        return False


def consistency_proof(old: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PROOF(old, leaves) of RFC 6962 section 2.1.2: that the first `old` leaves are a prefix of all."""
    if not 0 < old <= len(leaves):
        raise BadTree(f"old size: got {old}, want 1 to {len(leaves)}")
    return _subproof(old, leaves, whole=True)


def verify_consistency(old: int, size: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the tree (size, new_root) extends (old, old_root); a malformed proof is False.

    Nothing is proven of an empty tree: with `old` 0 this is False, as in the public vectors. A signer or a witness that
    starts from nothing asks `extends`.
    """
    if any(len(value) != HASH_SIZE for value in (old_root, new_root, *proof)):
        return False
    if not 0 < old <= size:
        return False
    return fold_consistency(0, old, size, old_root, proof) == (old_root, new_root)


def extends(old: int, size: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """`verify_consistency` for whoever remembers the last head, and at first remembers none: every tree extends the
    empty one (0, EMPTY_ROOT), with an empty proof.
    """
    if old != 0:
        return verify_consistency(old, size, old_root, new_root, proof)
    right = len(new_root) == HASH_SIZE if size > 0 else size == 0 and new_root == EMPTY_ROOT
    return right and not proof and old_root == EMPTY_ROOT


def fold_consistency(
    start: int, end: int, size: int, part_root: bytes, proof: Sequence[bytes]
) -> tuple[bytes, bytes] | None:
    """The roots of leaves [start, end), a subtree, and of the tree of `size`, as recomputed from a proof that the
    first is a part of the second; None if the proof's length is wrong. `part_root` is what the first should be.

    RFC 9162 section 2.1.4.2 for a prefix (start 0); for any subtree draft-ietf-plants-merkle-tree-certs section 4.4.
    """
    first, last, edge = start, end - 1, size - 1
    # Below this no hash is missing: the subtree is whole where it ends with the tree, or else up to its last full part.
    while first != last and (last == edge or last & 1):
        first, last, edge = first >> 1, last >> 1, edge >> 1
    path = [part_root, *proof] if first == last else list(proof)
    if not path:
        return None
    part = whole = path[0]
    for value in path[1:]:
        if edge == 0:
            return None
        if last & 1 or last == edge:
            if first < last:
                part = node_hash(value, part)
            whole = node_hash(value, whole)
            while not last & 1:
                first, last, edge = first >> 1, last >> 1, edge >> 1
        else:
            whole = node_hash(whole, value)
        first, last, edge = first >> 1, last >> 1, edge >> 1
    return (part, whole) if edge == 0 else None


def _subproof(old: int, leaves: Sequence[bytes], whole: bool) -> list[bytes]:
    if old == len(leaves):
        return [] if whole else [root_of(leaves)]
    split = largest_power_below(len(leaves))
    if old <= split:
        return [*_subproof(old, leaves[:split], whole), root_of(leaves[split:])]
    return [*_subproof(old - split, leaves[split:], whole=False), root_of(leaves[:split])]


def largest_power_below(size: int) -> int:
    """The largest power of two smaller than `size` (size > 1): where RFC 6962 divides it."""
    return 1 << ((size - 1).bit_length() - 1)


def _split(frontier: bytes, size: int) -> list[bytes]:
    want = size.bit_count() * HASH_SIZE
    if size < 0 or len(frontier) != want:
        raise BadTree(f"frontier of a tree of {size} leaves: got {len(frontier)} bytes, want {want}")
    return [frontier[at : at + HASH_SIZE] for at in range(0, want, HASH_SIZE)]


def _check_hash(value: bytes) -> None:
    if len(value) != HASH_SIZE:
        raise BadTree(f"hash: got {len(value)} bytes, want {HASH_SIZE}")
