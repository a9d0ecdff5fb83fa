"""Which subtrees a proof consists of: every hash in it is the root over a range of leaves.

A *range* is leaves [start, end). A *subtree* is a range that begins at a multiple of the smallest power of two that
holds its length; its root is the RFC 6962 root over its leaves, and every hash in a tree or a proof is one of these.
Whoever has leaves, tiles or a table turns the ranges into hashes; this module only counts.

Sources: RFC 6962 section 2.1, draft-ietf-plants-merkle-tree-certs section 4. Counts are below 2^63.
"""

from __future__ import annotations

from audit.tlog.tree import BadTree, largest_power_below

MAX_SIZE = 2**63 - 1

Range = tuple[int, int]  #: leaves [start, end)
Node = tuple[int, int]  #: height and index: the perfect subtree over leaves [index << height, (index + 1) << height)


def check_subtree(part: Range) -> None:
    """Raises BadTree unless [start, end) is a subtree: it begins at a multiple of the power of two that holds it."""
    start, end = part
    if not 0 <= start <= end <= MAX_SIZE or start % (1 << (end - start - 1).bit_length() if end > start else 1):
        raise BadTree(f"leaves {start} to {end} are no subtree")


def inclusion_ranges(index: int, tree: Range) -> list[Range]:
    """Whose roots prove the leaf at `index` within the (sub)tree over `tree`, nearest first."""
    start, end = tree
    if not 0 <= start <= index < end <= MAX_SIZE:
        raise BadTree(f"leaf index: got {index}, want {start} to {end - 1}")
    found: list[Range] = []
    while end - start > 1:
        middle = start + largest_power_below(end - start)
        if index < middle:
            found.append((middle, end))
            end = middle
        else:
            found.append((start, middle))
            start = middle
    return found[::-1]


def consistency_ranges(part: Range, size: int) -> list[Range]:
    """Whose roots prove that `part` (a subtree; for a prefix it begins at 0) is a part of the tree of `size` leaves.

    SUBTREE_PROOF of draft-ietf-plants-merkle-tree-certs section 4.4; for a prefix it is PROOF of RFC 6962.
    """
    first, last = part
    check_subtree(part)
    if first == last or last > size:
        raise BadTree(f"consistency: got leaves {first} to {last} of {size}, want at least one and not more than all")
    if size > MAX_SIZE:
        raise BadTree(f"got a tree of {size} leaves, want less than 2^63")
    start, end, known = 0, size, True
    found: list[Range] = []
    while (start, end) != part:
        middle = start + largest_power_below(end - start)
        if last <= middle:
            found.append((middle, end))
            end = middle
        elif first >= middle:
            found.append((start, middle))
            start = middle
        else:
            # The subtree reaches over the middle, so it begins where this node does.
            found.append((start, middle))
            start, part, known = middle, (middle, last), False
            first = middle
    return ([] if known else [(start, end)]) + found[::-1]


def perfect(part: Range) -> list[Node]:
    """The perfect subtrees that a subtree consists of, largest first."""
    check_subtree(part)
    start, end = part
    nodes: list[Node] = []
    while start < end:
        height = (end - start).bit_length() - 1
        nodes.append((height, start >> height))
        start += 1 << height
    return nodes
