"""Comparing all heads that the signed global log knows with the head rows: is the log there, as long, and the same.

The leaves themselves are hashed on the way. Their root must be the signed one, so that nobody hides a deleted log by
deleting its leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

import msgspec
from django.conf import settings

from audit import globallog, signer
from audit.globallog import SignedHead
from audit.reading import run
from audit.scrub.altered import LEDGER, Found
from audit.tlog import checkpoint, headleaf, note, tree

LEAVES = 1_000  # in one piece of work
Also = Callable[[Sequence[UUID]], Iterable[Found]]  # what else is wrong with these logs


class SignedLog(msgspec.Struct, frozen=True):
    """What a leaf of the global log says of one log."""

    log: UUID
    size: int
    root: bytes


def read_head(body: bytes) -> SignedLog | None:
    """The head that a leaf states; None where the leaf states something else."""
    prefix = f"{settings.LOG_ORIGIN}/s/"
    try:
        said, _ = headleaf.parse(body)
        return SignedLog(UUID(said.origin.removeprefix(prefix)), said.size, said.root)
    except ValueError:
        return None


def compare_all(tenant: UUID, also: Also = lambda logs: ()) -> list[Found]:
    """The whole comparison at once."""
    head, found, frontier = globallog.signed_head(tenant), list[Found](), b""
    if head is None:
        return []
    for start in range(0, head.size, LEAVES):
        bodies = read_leaves(tenant, start, min(start + LEAVES, head.size))
        frontier = tree.append(frontier, start, [tree.leaf_hash(body) for body in bodies])
        found += compare(bodies, also)
    return list(dict.fromkeys([*found, *leaves_differ(head, frontier)]))


def read_leaves(tenant: UUID, start: int, stop: int) -> list[bytes]:
    """Leaves of the global log; an empty one where one is missing."""
    stored = dict(globallog.bodies(tenant, start, stop))
    return [stored.get(index, b"") for index in range(start, stop)]


def leaves_differ(head: SignedHead, frontier: bytes) -> list[Found]:
    """Whether the leaves of this frontier are those that were signed. The signature counts while the signer answers."""
    root = head.root
    try:
        keys = [note.parse_vkey(each) for each in signer.known().vkeys]
        checkpoint.open_signed(head.note, keys)
    except (signer.SignerDown, signer.BadLogKey, signer.BadMemory):
        pass
    except ValueError:
        root = b""
    return [] if tree.root(frontier, head.size) == root else [Found(LEDGER, "leaves_altered")]


_ROWS = """
SELECT asked.log, h.size, h.frontier, (SELECT max(e.seq) FROM audit_entry e WHERE e.log = asked.log)
  FROM unnest(%(logs)s::uuid[]) AS asked(log) LEFT JOIN audit_head h ON h.log = asked.log"""


def compare(bodies: Sequence[bytes], also: Also = lambda logs: ()) -> list[Found]:
    """What differs between these leaves and the head rows, as of one moment after the leaves were read."""
    said = {each.log: each for each in map(read_head, bodies) if each is not None}  # the newest of each log
    if not said:
        return []
    found = list(also(list(said)))
    for log, size, frontier, last in run(_ROWS, {"logs": list(said)}):
        found += _differs(said[log], size, frontier, last)
    return found


def _differs(said: SignedLog, size: int | None, frontier: bytes | None, last: int | None) -> list[Found]:
    """`size` and `frontier` are the head row's, `last` is the highest number of its entries; None: there is none."""
    if size is None or frontier is None:
        return [Found(said.log, "log_missing", detail=f"It had {said.size} entries.")]
    if size < said.size:
        return [Found(said.log, "log_cut_off", detail=f"It has {size} entries; {said.size} were signed.")]
    if last != size - 1:
        return [Found(said.log, "tail_differs")]
    try:
        root = tree.root(bytes(frontier), size)
    except tree.BadTree:
        return [Found(said.log, "head_altered")]
    return [Found(said.log, "head_altered")] if size == said.size and root != said.root else []
