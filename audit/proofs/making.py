"""Makes proofs from this installation's ledger. What is handed out was checked against the head it is for: an altered
ledger gives a refusal, never a proof that does not hold.

Each of them sees to it first that the log's present head stands in a signed head of the global log; that takes a round
of the sequencer, some tens of milliseconds, when something was appended since the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from agentstate.errors import Broken, Refused
from audit import globallog, keys, ledger, sequencer, signer
from audit import growth as logs
from audit.export.evidence import Leaf
from audit.proofs import document, sessiontree
from audit.proofs.document import Last, Opened, Tail, TooMany, Trust
from audit.proofs.sessiontree import LogTiles
from audit.tlog import checkpoint, fields, headleaf, note, subtree, tiles, tree
from audit.tlog import receipt as cose
from audit.tlog.proof import Proof

TRIES = 10
T = TypeVar("T")

#: which fields of an entry are shown: called with its kind and its payload, then with each field's pointer and JSON
Shows = Callable[[str, bytes], Callable[[str, bytes], bool]]


class NotProvable(Broken):
    """The entries are not those that the log's head was computed from: the ledger was altered."""

    code = "not_provable"
    remedy = "Export the session: the report names the entry. Compare the database with its backups."


class NoSuchEntry(Refused):
    """The session has no such entry."""

    code = "no_such_entry"
    status = 404


class NoSuchField(Refused):
    """The entry has no such field that could be shown alone."""

    code = "no_such_field"
    status = 404


class NotKept(Refused):
    """The log does not hold what this receipt says: it was cut off, altered, or the receipt is not from here."""

    code = "receipt_not_kept"


class SessionExists(Refused):
    """There is a session of this id."""

    code = "session_exists"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a committed command leaves in the hands of whoever gave it: the log had `size` entries then, with this root,
    and the last of them has this leaf hash.
    """

    log: UUID
    size: int
    root: bytes
    leaf: bytes


@dataclass(frozen=True, slots=True)
class Tlog:
    """The same proof in formats that others read: two C2SP tlog-proofs, one into the session's own signed head and one
    of that head in the global log; the latter as COSE receipt (RFC 9942) too.
    """

    entry: bytes
    head: bytes
    receipt: bytes


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A log's present head, proven to stand in a signed head of the global log."""

    log: UUID
    trust: Trust
    head: Leaf
    size: int
    root: bytes
    tail: Tail | None


def nothing(kind: str, payload: bytes) -> Callable[[str, bytes], bool]:
    """Shows no field: that the entry stands there is proven all the same."""
    return lambda pointer, value: False


def entry(log: UUID, seq: int, *, shows: Shows | None = None, pointers: Sequence[str] = ()) -> bytes:
    """The proof of one entry, in the fields that `shows` says, in full without it. With `pointers` of these fields only
    those there: one that `shows` hides is refused as one that is not there.

    Raises NoSuchEntry, NoSuchField, NotProvable, ledger.UnknownLog, signer.SignerDown, signer.HeadRefused.
    """
    at = _anchored(log)
    row = _rows(at, seq, seq + 1)[0]
    path = _path(at, row)
    return document.entry(at.trust, at.head, _opened(log, row, shows, pointers), path)


def extract(log: UUID, start: int, end: int, *, shows: Shows | None = None) -> bytes:
    """The proof of the entries from `start` up to `end` (not included). Raises TooMany and as `entry`."""
    at = _anchored(log)
    rows = _rows(at, start, end)
    leaves = [tree.leaf_hash(row.envelope) for row in rows]

    def proved() -> subtree.RangeProof | None:
        found = subtree.prove_range(start, end, at.size, LogTiles(log))
        return found if subtree.verify_range(found, leaves, at.size, at.root) else None

    found = _sound(log, proved)
    return document.extract(at.trust, at.head, [_opened(log, row, shows) for row in rows], found)


def complete(log: UUID, *, shows: Shows | None = None) -> bytes:
    """The proof of a whole session: every entry, and none after. Raises as `extract`."""
    at = _anchored(log, with_map=True)
    rows = _rows(at, 0, at.size)
    if tree.root_of([tree.leaf_hash(row.envelope) for row in rows]) != at.root or at.tail is None:
        raise NotProvable(str(log))
    return document.complete(at.trust, at.head, [_opened(log, row, shows) for row in rows], at.tail)


def absence(tenant: UUID, session: UUID) -> bytes:
    """The proof that no log has this id, as of a head map made now. Raises SessionExists, signer.SignerDown."""
    for _ in range(TRIES):
        try:
            ledger.read_head(session)
        except ledger.UnknownLog:
            pass
        else:
            raise SessionExists(str(session))
        sequencer.run_once(tenant, with_map=True)
        said, anchor = globallog.map_proof(tenant, session), globallog.signed_head(tenant)
        if said is None or anchor is None or anchor.size <= said.index:
            continue
        if said.place is not None:
            raise SessionExists(str(session))
        leaf = _global_leaf(tenant, said.index, anchor.size)
        return document.absence(_trust(tenant, anchor), str(session), leaf, said.proof)
    raise sequencer.Unsettled(str(session))


def growth(log: UUID, size: int) -> bytes:
    """The proof that a log continues its own head of `size` entries. Raises NoSuchEntry and as `entry`."""
    at = _anchored(log)
    if not 0 < size <= at.size:
        raise NoSuchEntry(f"got {size} entries, the log has {at.size}")

    def proved() -> tuple[bytes, list[bytes], Last] | None:
        held = LogTiles(log)
        old = tiles.root(size, held)
        path = [] if size == at.size else tiles.consistency_proof(size, at.size, held)
        leaf = tree.leaf_hash(_rows(at, size - 1, size)[0].envelope)
        last = Last(leaf, tuple(tiles.inclusion_proof(size - 1, size, held)))
        good = tree.verify_consistency(size, at.size, old, at.root, path)
        return (old, path, last) if good and tree.verify_inclusion(size - 1, size, leaf, last.path, old) else None

    old, path, last = _sound(log, proved)
    return document.growth(at.trust, str(log), at.head, size, old, path, last)


def log_growth(tenant: UUID, size: int) -> bytes:
    """The proof that the global log continues its head of `size` leaves. Raises NoSuchEntry."""
    anchor = globallog.signed_head(tenant)
    if anchor is None or not 0 < size <= anchor.size:
        raise NoSuchEntry(f"got {size} leaves, the signed log has {anchor.size if anchor else 0}")
    old = tiles.root(size, globallog.StoredTiles(tenant))
    return document.log_growth(_trust(tenant, anchor), size, old, globallog.consistency(tenant, size, anchor.size))


def receipt_of(log: UUID, size: int) -> Receipt:
    """The receipt of the command after which the log had `size` entries: the same whenever it is asked for.

    Raises NoSuchEntry, NotProvable.
    """
    head = ledger.read_head(log)
    if not 0 < size <= head.size:
        raise NoSuchEntry(f"got {size} entries, the log has {head.size}")

    def found() -> bytes | None:
        held = LogTiles(log)
        old = tiles.root(size, held)
        path = [] if size == head.size else tiles.consistency_proof(size, head.size, held)
        return old if tree.verify_consistency(size, head.size, old, head.root, path) else None

    root = _sound(log, found)
    (row,) = ledger.read_rows(log, size - 1, size)
    return Receipt(log, size, root, tree.leaf_hash(row.envelope))


def receipt(held: Receipt) -> bytes:
    """The proof that the log still holds what a receipt says. Raises NotKept, in so many words; and as `growth`."""
    try:
        own = receipt_of(held.log, held.size)
    except (NoSuchEntry, ledger.UnknownLog) as error:
        raise NotKept(f"{held.size} entries were acknowledged: {error.detail or 'there is no such log'}") from None
    except NotProvable:
        raise NotKept("the log's entries are not those of its head") from None
    if (own.root, own.leaf) != (held.root, held.leaf):
        raise NotKept(f"the first {held.size} entries are others now")
    return growth(held.log, held.size)


def tlog_files(log: UUID, seq: int) -> Tlog:
    """The proof of an entry's envelope as files that third parties read. Raises as `entry`."""
    at = _anchored(log)
    row = _rows(at, seq, seq + 1)[0]
    path = _path(at, row)
    signed = logs.signed_head(at.head.body, at.head.index, at.head.path, at.trust.checkpoint)
    vkey, signature = signer.sign_receipt(at.trust.checkpoint)
    size = checkpoint.parse(note.parse(at.trust.checkpoint).text).size
    return Tlog(
        entry=Proof(seq, tuple(path), signed, row.envelope).write(),
        head=at.head.proof(at.trust.checkpoint),
        receipt=cose.make(note.parse_vkey(vkey), at.head.index, size, at.head.path, signature),
    )


def _anchored(log: UUID, *, with_map: bool = False) -> _Anchored:
    tenant = ledger.read_head(log).tenant
    for _ in range(TRIES):
        place = sequencer.settle(log, with_map=with_map)
        said = globallog.map_proof(tenant, log) if with_map else None
        anchor = globallog.signed_head(tenant)
        if anchor is None or anchor.size <= place.index or (with_map and (said is None or anchor.size <= said.index)):
            continue  # a round came in between
        if said is not None and said.place != place:
            continue
        break
    else:
        raise sequencer.Unsettled(str(log))
    leaf = _global_leaf(tenant, place.index, anchor.size)
    body, _ = headleaf.parse(leaf.body)
    tail = None if said is None else Tail(_global_leaf(tenant, said.index, anchor.size), said.proof.siblings)
    return _Anchored(log, _trust(tenant, anchor), leaf, body.size, body.root, tail)


def _trust(tenant: UUID, anchor: globallog.SignedHead) -> Trust:
    return Trust(anchor.checkpoint, tuple(_global_leaf(tenant, index, anchor.size) for index in _rotations(anchor)))


def _rotations(anchor: globallog.SignedHead) -> list[int]:
    """Where the keys before the one that signed this head gave way to their successors, oldest first."""
    signed, found, known = {each.key_id for each in note.parse(anchor.note).signatures}, [], 0
    for index, introduction in globallog.introductions(anchor.tenant):
        found.append(index)
        if note.parse_vkey(note.parse(introduction).text.split("\n")[2]).key_id in signed:
            known = len(found)
    return found[:known]


def _global_leaf(tenant: UUID, index: int, size: int) -> Leaf:
    return Leaf(globallog.body(tenant, index), index, tuple(globallog.inclusion(tenant, index, size)))


def _rows(at: _Anchored, start: int, end: int) -> list[ledger.Row]:
    """Exactly these entries. Raises NoSuchEntry, TooMany, NotProvable."""
    if not 0 <= start < end <= at.size:
        raise NoSuchEntry(f"got entries {start} to {end - 1}, the log has {at.size}")
    if end - start > document.MAX_ENTRIES:
        raise TooMany(f"got {end - start} entries, at most {document.MAX_ENTRIES}")
    rows = list(ledger.read_rows(at.log, start, end))
    if [row.seq for row in rows] != list(range(start, end)):
        raise NotProvable(str(at.log))
    return rows


def _path(at: _Anchored, row: ledger.Row) -> list[bytes]:
    leaf = tree.leaf_hash(row.envelope)

    def proved() -> list[bytes] | None:
        path = tiles.inclusion_proof(row.seq, at.size, LogTiles(at.log))
        return path if tree.verify_inclusion(row.seq, at.size, leaf, path, at.root) else None

    return _sound(at.log, proved)


def _sound(log: UUID, proved: Callable[[], T | None]) -> T:
    """What `proved` gives; where it does not hold, once more without what was kept of the tree. Raises NotProvable."""
    for _ in range(2):
        try:
            found = proved()
        except (tiles.BadTile, tree.BadTree):
            found = None
        if found is not None:
            return found
        sessiontree.forget(log)
    raise NotProvable(str(log))


def _opened(log: UUID, row: ledger.Row, shows: Shows | None, pointers: Sequence[str] = ()) -> Opened:
    """The entry in the fields that may be shown. Its key opens all: it is handed out only where all may be shown."""
    try:
        okm, payload = _key_and_payload(log, row)
    except ledger.Pruned:
        return Opened(row.envelope, closed="pruned")
    except keys.Erased:
        return Opened(row.envelope, closed="erased")
    envelope = ledger.parse_envelope(row.envelope)
    if shows is None and not pointers:
        return Opened(row.envelope, okm, payload)
    if not envelope.pc:  # of version 1: it commits to no fields
        return Opened(row.envelope)
    may = _everything if shows is None else shows(envelope.kind, payload)
    if pointers:
        return Opened(row.envelope, fields=_at(okm, payload, pointers, may))
    every = fields.fields(okm, payload)
    shown = tuple(each for each in every if may(each.pointer, each.value))
    return Opened(row.envelope, okm, payload) if len(shown) == len(every) else Opened(row.envelope, fields=shown)


def _everything(pointer: str, value: bytes) -> bool:
    return True


def _at(
    okm: bytes, payload: bytes, pointers: Sequence[str], may: Callable[[str, bytes], bool]
) -> tuple[fields.Field, ...]:
    """The fields at these pointers. Raises NoSuchField where one is not there, or may not be shown."""
    try:
        found = {each.index: each for pointer in pointers for each in fields.disclose(okm, payload, pointer)}
    except fields.BadFields as error:
        raise NoSuchField(str(error)[:200]) from None
    hidden = next((each.pointer for each in found.values() if not may(each.pointer, each.value)), None)
    if hidden is not None:
        raise NoSuchField(f"{hidden[:200]!r} is withheld")
    return tuple(found[index] for index in sorted(found))


def _key_and_payload(log: UUID, row: ledger.Row) -> tuple[bytes, bytes]:
    """What opens an entry. Of an erased subject keys.Erased comes first, whatever became of the ciphertext."""
    try:
        return ledger.okm_of(ledger.parse_envelope(row.envelope)), ledger.open_row(row)[1]
    except keys.Unreadable:
        raise NotProvable(f"{log}, entry {row.seq}") from None
