"""Proofs of ranges: these entries, and none missing between them, are in the log.

A *subtree* [start, end) is a range that begins at a multiple of the smallest power of two that holds its length, so
that its hash is a hash in the tree, or in the tree as it was when it ended there. Any range is covered by at most two,
of which the left one may begin before it.

Formats and algorithms: draft-ietf-plants-merkle-tree-certs section 4, and transparency-dev/merkle, whose verifier
accepts the same proofs. `RangeProof`, which puts them together for any range, is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit.tlog import tiles, tree
from audit.tlog.ranges import Range, check_subtree, consistency_ranges, inclusion_ranges, perfect
from audit.tlog.tiles import HashReader
from audit.tlog.tree import EMPTY_ROOT, HASH_SIZE, BadTree


def find_subtrees(start: int, end: int) -> list[Range]:
    """The one (a single leaf) or two adjacent subtrees that cover [start, end) and end with it.

    The left one may begin before `start`, by less than half its length.
    """
    if not 0 <= start < end:
        raise BadTree(f"range: got leaves {start} to {end}, want at least one")
    if end - start == 1:
        return [(start, end)]
    last = end - 1
    split = (start ^ last).bit_length() - 1  # where the paths to the first and the last leaf part
    low = (1 << split) - 1
    middle = last & ~low
    left = (~start & low).bit_length()  # as far down as the left subtree has to reach to begin not after `start`
    return [(start >> left << left, middle), (middle, end)]


def root(part: Range, size: int, reader: HashReader) -> bytes:
    """The hash of a subtree of the tree of `size` leaves."""
    return EMPTY_ROOT if part[0] == part[1] else tiles.hashes([part], size, reader)[0]


def inclusion_proof(index: int, part: Range, size: int, reader: HashReader) -> list[bytes]:
    """That the leaf at `index` (of the whole log) is in the subtree `part`, nearest hash first."""
    check_subtree(part)
    return tiles.hashes(inclusion_ranges(index, part), size, reader)


def consistency_proof(part: Range, size: int, reader: HashReader) -> list[bytes]:
    """That the subtree `part` is a part of the tree of `size` leaves."""
    return tiles.hashes(consistency_ranges(part, size), size, reader)


def verify_inclusion(index: int, part: Range, leaf: bytes, proof: Sequence[bytes], part_root: bytes) -> bool:
    """Whether the leaf hash is at `index` (of the whole log) of the subtree `part` with this hash."""
    start, end = part
    return _is_subtree(part) and tree.verify_inclusion(index - start, end - start, leaf, proof, part_root)


def verify_consistency(part: Range, size: int, part_root: bytes, whole_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the subtree `part` with its hash is a part of the tree of `size` with `whole_root`.

    The empty subtree is a part of every tree; that says nothing of `whole_root`, at which it does not look.
    """
    start, end = part
    if not _is_subtree(part) or end > size:
        return False
    if start == end:
        return not proof and part_root == EMPTY_ROOT
    if any(len(value) != HASH_SIZE for value in (part_root, whole_root, *proof)):
        return False
    return tree.fold_consistency(start, end, size, part_root, proof) == (part_root, whole_root)


@dataclass(frozen=True, slots=True)
class RangeProof:
    """That given leaves are exactly those from `start` to `end` of a tree.

    `before` are the hashes of what the left subtree covers in front of `start` (perfect subtrees, largest first: a
    frontier); `parts` are the consistency proofs of the subtrees that `find_subtrees` names, in order.
    """

    start: int
    end: int
    before: tuple[bytes, ...]
    parts: tuple[tuple[bytes, ...], ...]

    def as_json(self) -> dict[str, Any]:
        """The proof for canonical JSON; hashes are hexadecimal."""
        return {
            "before": [value.hex() for value in self.before],
            "end": self.end,
            "parts": [[value.hex() for value in part] for part in self.parts],
            "start": self.start,
        }


def prove_range(start: int, end: int, size: int, reader: HashReader) -> RangeProof:
    """The proof of leaves [start, end), at least one, of the tree of `size`. Logarithmic, however long the range."""
    found = find_subtrees(start, end)
    first = found[0][0]
    before = [((at << height) + first, (at + 1 << height) + first) for height, at in perfect((0, start - first))]
    each = [before, *(consistency_ranges(part, size) for part in found)]
    values = iter(tiles.hashes([one for part in each for one in part], size, reader))
    taken = [tuple(next(values) for _ in part) for part in each]
    return RangeProof(start, end, taken[0], tuple(taken[1:]))


def verify_range(proof: RangeProof, leaves: Sequence[bytes], size: int, expected_root: bytes) -> bool:
    """Whether these leaf hashes are leaves [start, end) of the tree (size, expected_root), in order, none missing."""
    start, end = proof.start, proof.end
    if not 0 <= start < end <= size or len(leaves) != end - start:
        return False
    found = find_subtrees(start, end)
    if len(proof.parts) != len(found):
        return False
    first, middle = found[0]
    try:
        frontier = tree.append(b"".join(proof.before), start - first, leaves[: middle - start])
        roots = [tree.root(frontier, middle - first)]
        if any(len(value) != HASH_SIZE for value in proof.before):
            return False
        if len(found) > 1:
            roots.append(tree.root_of(leaves[middle - start :]))
    except BadTree:
        return False
    return all(
        verify_consistency(part, size, own, expected_root, path)
        for part, own, path in zip(found, roots, proof.parts, strict=True)
    )


def parse_range(document: object) -> RangeProof:
    """Read what `RangeProof.as_json` wrote; nothing is verified. Raises BadTree."""
    if not isinstance(document, dict) or set(document) != {"before", "end", "parts", "start"}:
        raise BadTree("range proof: want before, end, parts and start")
    start, end, before, parts = (document[name] for name in ("start", "end", "before", "parts"))
    if type(start) is not int or type(end) is not int or not isinstance(parts, list):
        raise BadTree("range proof: want start and end as integers, and a list of parts")
    return RangeProof(start, end, _hashes(before), tuple(_hashes(part) for part in parts))


def _hashes(values: object) -> tuple[bytes, ...]:
    if not isinstance(values, list):
        raise BadTree("range proof: want a list of hashes")
    found = []
    for value in values:
        raw = _unhex(value)
        if len(raw) != HASH_SIZE or raw.hex() != value:
            raise BadTree(f"range proof: want {HASH_SIZE} bytes in hexadecimal")
        found.append(raw)
    return tuple(found)


def _unhex(text: object) -> bytes:
    try:
        return bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        return b""


def _is_subtree(part: Range) -> bool:
    try:
        check_subtree(part)
    except BadTree:
        return False
    return True
