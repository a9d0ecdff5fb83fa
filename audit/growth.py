"""Shows the signer that logs grew, and has it sign the global log.

What it asks for is at hand in a round: a place keeps the frontier of the head that was sequenced last, and the hashes
of the entries after it are read with the heads. Where that does not suffice (the signer remembers another head, or
somebody reported one in between) the proof is made from the log's entries.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from uuid import UUID

from audit import globallog, signer
from audit.globallog import State
from audit.ledger import run
from audit.proofs.sessiontree import LogTiles, forget
from audit.signer import Behind, Growth, Unproved
from audit.signing.messages import LONGEST
from audit.tlog import growth, headleaf, tiles, tree
from audit.tlog.checkpoint import BadCheckpoint

BYTES = LONGEST // 2  # of frontiers, nodes and leaves in one question: a line holds them in base64
LEAVES = 5_000  # of the global log in one question
TRIES = 1_000  # questions until a log is signed
AGAIN = 10.0  # seconds until a head that was refused is shown again
KNOWN = 600.0  # seconds for which one is known that was refused before


class Refusals:
    """The heads that the signer refused lately, so that not every round makes their proofs anew."""

    def __init__(self) -> None:
        self._heads: dict[UUID, tuple[bytes, str, float]] = {}

    def why(self, log: UUID, body: bytes) -> str:
        """Why this head of a log was refused a moment ago; empty: it was not."""
        known, why, at = self._heads.get(log, (b"", "", 0.0))
        return why if known == body and time.monotonic() - at < AGAIN else ""

    def keep(self, log: UUID, body: bytes, why: str) -> bool:
        """This head was refused. Returns whether that is new, and not what was refused last of this log."""
        self._heads = {each: kept for each, kept in self._heads.items() if time.monotonic() - kept[2] < KNOWN}
        is_new = self._heads.get(log, (b"",))[0] != body
        self._heads[log] = body, why, time.monotonic()
        return is_new


def admit(state: State, heads: dict[UUID, Growth]) -> dict[UUID, str]:
    """Shows the signer heads that are to stand in the global log; those that it refuses, and why.

    Raises signer.SignerDown, and signer.HeadRefused when the global log itself is older than what was signed.
    """
    unproved = _shown(state, heads.values())
    again = {each.log: _from_entries(heads[each.log].body, each) for each in unproved}
    return {each.log: each.why for each in _shown(state, again.values())}


def _shown(state: State, heads: Iterable[Growth]) -> list[Unproved]:
    return [each for part in _parts(heads) for each in signer.admit(state.size, state.root, part)]


def _parts(heads: Iterable[Growth]) -> Iterator[list[Growth]]:
    """The heads in questions of at most BYTES."""
    part: list[Growth] = []
    size = 0
    for each in heads:
        own = len(each.body) + len(each.frontier) + len(each.nodes)
        if part and size + own > BYTES:
            yield part
            part, size = [], 0
        part.append(each)
        size += own
    if part:
        yield part


def _from_entries(body: bytes, wanted: Unproved) -> Growth:
    """The growth that the signer asks for, made from the log's entries; none where they do not give it."""
    old, *via = wanted.sizes
    size = headleaf.parse(body)[0].size
    if not 0 <= old < size or (not old and not via):
        return Growth(body)
    forget(wanted.log)  # what was kept of its tree may be wrong
    try:
        frontier, nodes = _ranges(wanted.log, old, [*via, size])
    except (tiles.BadTile, tree.BadTree):
        return Growth(body)
    return Growth(body, old, frontier, nodes, tuple(via))


def _ranges(log: UUID, old: int, sizes: Sequence[int]) -> tuple[bytes, bytes]:
    """The frontier of a log's first `old` entries, and the nodes that follow up to the last of `sizes`."""
    reader = LogTiles(log)
    frontier = tiles.frontier(old, reader) if old else b""
    return frontier, b"".join(tiles.hashes(growth.parts(old, sizes), sizes[-1], reader))


def signed_head(body: bytes, index: int, proof: Sequence[bytes], head: bytes) -> bytes:
    """The signed head of one log that is leaf `index`, `body`, of the signed global `head` (a note), also where the log
    was signed for since. Raises signer.HeadRefused.
    """
    answer = signer.sign_head(body, index, proof, head)
    if isinstance(answer, Behind):
        said = headleaf.parse(body)[0]
        log = UUID(said.origin.rpartition("/s/")[2])
        try:
            grown = tiles.consistency_proof(said.size, answer.size, LogTiles(log))
        except (tiles.BadTile, tree.BadTree):
            grown = []
        answer = signer.sign_head(body, index, proof, head, grown)
    if isinstance(answer, Behind):
        raise signer.HeadRefused(f"Got {said.size} entries; signed {answer.size} before.")
    return answer


def settle_reports() -> list[signer.Reported]:
    """The heads that were reported to the signer and wait, oldest first. Those that a signed head continues are shown
    to it and wait no more. Raises signer.SignerDown.
    """
    waiting = signer.known().reported
    settled = [each for each in waiting if each.size < each.signed and _confirmed(each)]
    return [each for each in waiting if each not in settled]


def _confirmed(waiting: signer.Reported) -> bool:
    try:
        signer.confirm(waiting.log, waiting.size, *_ranges(waiting.log, waiting.size, [waiting.signed]))
    except (signer.HeadRefused, tiles.BadTile, tree.BadTree):
        return False
    return True


# --- the global log


def sign(tenant: UUID, *, again: bool = False) -> datetime | None:
    """Have the present state signed unless it is (`again`: even then); when, or None when there is nothing to sign.

    Raises signer.HeadRefused or signer.SignerDown.
    """
    while True:
        state = globallog.state(tenant)
        if not state.size or (state.signed == state.size and not again):
            return None
        try:
            note = _note(state)
        except signer.HeadRefused:
            if globallog.state(tenant).size > state.size:
                continue  # another round was signed before ours; only the log as it stands now can be refused
            raise
        return _store(tenant, state.size, note)


def sign_grown(before: State, bodies: Sequence[bytes], root: bytes) -> datetime | None:
    """`sign` of the log to which these leaves were added, and which has this root now. All that the signer asks for is
    at hand, if it was signed before them.
    """
    size = before.size + len(bodies)
    if len(bodies) <= LEAVES and before.signed == before.size:
        try:
            answer = signer.sign_global(size, root, before.size, before.frontier, bodies)
        except signer.HeadRefused:
            return sign(before.tenant)  # another round may have been signed before ours; else it is refused as well
        if isinstance(answer, bytes):
            return _store(before.tenant, size, answer)
    return sign(before.tenant)


def _note(state: State) -> bytes:
    """The present state signed, some leaves at a time from where the signer is."""
    old = min(state.signed, state.size)
    for _ in range(TRIES):
        frontier, leaves = _leaves(state, old)
        size = old + len(leaves)
        root = state.root if size == state.size else _root(frontier, old, leaves)
        answer = signer.sign_global(size, root, old, frontier, leaves)
        match answer:
            case bytes() if size == state.size:
                return answer
            case bytes():
                old = size
            case Behind():
                old = answer.size
            case _:
                _admit_leaves(state, leaves, answer)
    raise signer.SignerDown("Others were signed before us at every try.")


def _leaves(state: State, old: int) -> tuple[bytes, list[bytes]]:
    """The frontier of the first `old` leaves, and those that follow: some, of which no two are of one log."""
    if old >= state.size:
        return b"", []
    frontier = globallog.frontier(state.tenant, old)
    found: list[bytes] = []
    origins: set[bytes] = set()
    for _, body in globallog.bodies(state.tenant, old, min(state.size, old + LEAVES)):
        origin = body.partition(b"\n")[0]
        if b"/s/" in origin and origin in origins:
            break
        origins.add(origin)
        found.append(body)
    return frontier, found


def _root(frontier: bytes, old: int, leaves: Sequence[bytes]) -> bytes:
    return tree.root(tree.append(frontier, old, [tree.leaf_hash(leaf) for leaf in leaves]), old + len(leaves))


def _admit_leaves(state: State, leaves: Sequence[bytes], unproved: Sequence[Unproved]) -> None:
    """Prove heads that stand in the global log already. Raises signer.HeadRefused for one that cannot be."""
    wanted = {each.log: each for each in unproved}
    heads = {}
    for leaf in leaves:
        try:
            log = UUID(headleaf.parse(leaf)[0].origin.rpartition("/s/")[2])
        except (BadCheckpoint, ValueError):
            continue
        if log in wanted:
            heads[log] = _from_entries(leaf, wanted[log])
    for log, why in ((each.log, each.why) for each in _shown(state, heads.values())):
        raise signer.HeadRefused(f"The head of log {log} stands in the global log and does not continue it: {why}")


# On the disk before anybody can read it. It could be signed again after a crash, but for as long as that took (longer,
# where the signer is down) the log would show an older head than it showed before: to a monitor, a witness or whoever
# holds the newer one that is the mark of a ledger cut off.
_STORE = """
INSERT INTO audit_signedhead (tenant, size, signed_at, note)
  VALUES (%(tenant)s, %(size)s, clock_timestamp(), %(note)s) RETURNING signed_at"""


def _store(tenant: UUID, size: int, note: bytes) -> datetime:
    rows = run(_STORE, {"tenant": tenant, "size": size, "note": note})
    signed_at: datetime = rows[0][0]
    return signed_at
