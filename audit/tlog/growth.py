"""The growth of a log from one head to a later one, shown by the older frontier and the nodes that follow it.

Together they are two compact ranges (transparency-dev/merkle, `compact`): the frontier gives the older root, and the
frontier with the nodes gives the later one. So this says what an RFC 9162 consistency proof says. It costs less for the
few entries of a step: the hashes of the entries are the nodes, and whoever keeps the frontier computes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from audit.tlog import tree
from audit.tlog.ranges import Range
from audit.tlog.tree import HASH_SIZE, BadTree, node_hash

FEW = 256  #: leaves that are handed over one by one; of more, the roots of the subtrees that they fill


def parts(old: int, sizes: Sequence[int]) -> list[Range]:
    """The largest perfect subtrees that fill leaves [old, last of `sizes`), where each of `sizes` ends one."""
    found: list[Range] = []
    start = old
    for end in sizes:
        heights = range(end.bit_length())
        for height in heights:  # up to where a larger subtree may begin
            if start >> height & 1 and start + (1 << height) <= end:
                found.append((start, start + (1 << height)))
                start += 1 << height
        for height in reversed(heights):
            if start + (1 << height) <= end:
                found.append((start, start + (1 << height)))
                start += 1 << height
    return found


def nodes(old: int, leaves: bytes, via: Sequence[int] = ()) -> bytes:
    """What to hand over with the frontier of `old` leaves for the leaf hashes that follow, one behind the other."""
    count = len(leaves) // HASH_SIZE
    if count <= FEW:
        return leaves
    hashes = [leaves[at : at + HASH_SIZE] for at in range(0, len(leaves), HASH_SIZE)]
    return b"".join(tree.root_of(hashes[start - old : end - old]) for start, end in parts(old, [*via, old + count]))


def fold(
    frontier: bytes, old: int, new: int, given: bytes, via: Sequence[int] = (), at: Sequence[int] = ()
) -> tuple[bytes, dict[int, bytes]]:
    """The frontier of `new` leaves, and the roots at those of the sizes `at` that a node ends. Raises BadTree."""
    subtrees = [frontier[place : place + HASH_SIZE] for place in range(0, len(frontier), HASH_SIZE)]
    if len(frontier) != old.bit_count() * HASH_SIZE or not 0 <= old <= new or len(given) % HASH_SIZE:
        raise BadTree(f"growth from {old} to {new} leaves: the frontier or the nodes have another length")
    count = len(given) // HASH_SIZE
    ends = range(old + 1, new + 1) if count == new - old else [end for _, end in parts(old, [*via, new])]
    if count != len(ends):
        raise BadTree(f"growth from {old} to {new} leaves: got {count} nodes, want {len(ends)}")
    roots, start = {}, old
    for number, end in enumerate(ends):
        carried = given[number * HASH_SIZE : (number + 1) * HASH_SIZE]
        remaining = start // (end - start)
        while remaining & 1:
            carried = node_hash(subtrees.pop(), carried)
            remaining >>= 1
        subtrees.append(carried)
        if end in at:
            roots[end] = tree.root(b"".join(subtrees), end)
        start = end
    return b"".join(subtrees), roots
