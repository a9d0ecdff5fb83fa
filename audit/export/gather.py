"""Takes the evidence around a session's log from this installation's global log, and signs for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from agentstate.errors import Broken
from audit import globallog, growth, ledger, sequencer, signer, timestamps, witnesses
from audit.export import erasures
from audit.export.bundle import HeadMalformed
from audit.export.evidence import Evidence, Leaf, MapRow
from audit.tlog import note, receipt, tree
from audit.tlog.policy import Group, Log, Policy, Witness

TRIES = 10
WAIT = 3.0  # seconds that an export waits for witnesses, and for the time-stamp authority
QUORUM = "any-witness"
logger = logging.getLogger("audit.export")


class KeyGone(Broken):
    """The log's key has changed since this was begun, and the old one signs no more."""

    code = "log_key_gone"
    remedy = "Ask for the export again."


def gather(log: UUID, held: Sequence[int] = ()) -> Evidence:
    """The log's newest head, in the newest signed head and head map of the global log; with consistency proofs from
    the older global heads of the sizes `held`.

    Raises ledger.UnknownLog, HeadMalformed, signer.HeadRefused, signer.SignerDown or sequencer.Unsettled.
    """
    tenant = _checked_head(log).tenant
    erasures.settle(erasures.begun_in([log]))
    for _ in range(TRIES):
        sequencer.settle(log, with_map=True)
        said, newest = globallog.map_proof(tenant, log), globallog.signed_head(tenant)
        if said is not None and said.place is not None and newest is not None and newest.size > said.index:
            break  # else a round came in between, and the map is newer than the signature
    else:
        raise sequencer.Unsettled(str(log))
    row = MapRow(said.place.index, said.place.size, tuple(said.proof.siblings))
    return anchored(tenant, said.index).evidence(log, row, held)


@dataclass(frozen=True)
class Anchor:
    """A signed head of the global log, and what stands under it whichever session a bundle is of."""

    tenant: UUID
    size: int
    checkpoint: bytes  #: with its cosignatures
    note: bytes  #: without
    vkey: str  #: the key that signed it
    map: Leaf
    policy: bytes
    rotations: tuple[Leaf, ...]
    timestamp: bytes

    def evidence(self, log: UUID, row: MapRow, held: Sequence[int] = ()) -> Evidence:
        """That of the session `log`, of which this head's map says `row`."""
        head = _leaf(self.tenant, row.index, self.size)
        old_heads = [old for old in held if 0 < old < self.size]
        proofs = {kid: erasures.prove(self.tenant, kid, self.size) for kid in erasures.begun_in([log])}
        return Evidence(
            checkpoint=self.checkpoint,
            head=head,
            map=self.map,
            row=row,
            policy=self.policy,
            receipt=_receipt(head, self),
            heads=tuple(globallog.heads_before(self.tenant, row.index)),
            rotations=self.rotations,
            timestamp=self.timestamp,
            consistency={old: tuple(globallog.consistency(self.tenant, old, self.size)) for old in old_heads},
            erasures={kid: proof for kid, proof in proofs.items() if proof},
        )


def anchored(tenant: UUID, mapped: int) -> Anchor:
    """The newest signed head, cosigned if that can be had, under which the head map of leaf `mapped` stands."""
    known = signer.known()
    rotations = list(_rotations(tenant, known))
    found = _anchor(tenant, max([mapped, *rotations]) + 1, note.parse_vkey(known.vkey))
    return anchored_at(found, mapped)


def anchored_at(head: globallog.SignedHead, mapped: int) -> Anchor:
    """The same for a signed head that was chosen before, with the cosignatures that it had then."""
    known = signer.known()
    lines = note.parse(head.note).signatures
    signed = (key for key in reversed(known.vkeys) if any(line.is_by(note.parse_vkey(key)) for line in lines))
    vkey = next(signed, "")
    if not vkey:
        raise globallog.Altered(f"The head of {head.size} leaves is signed by no key of this log.")
    rotations = (index for index in _rotations(head.tenant, known) if index < head.size)
    return Anchor(
        head.tenant,
        head.size,
        head.checkpoint,
        head.note,
        vkey,
        map=_leaf(head.tenant, mapped, head.size),
        policy=policy(vkey),
        rotations=tuple(_leaf(head.tenant, index, head.size) for index in rotations),
        timestamp=_timestamp(head),
    )


def _leaf(tenant: UUID, index: int, size: int) -> Leaf:
    return Leaf(globallog.body(tenant, index), index, tuple(globallog.inclusion(tenant, index, size)))


def _checked_head(log: UUID) -> ledger.Head:
    head = ledger.read_head(log)
    try:
        tree.root(head.frontier, head.size)
    except tree.BadTree as error:
        raise HeadMalformed(f"{error}".capitalize() + ".") from None
    return head


def _rotations(tenant: UUID, known: signer.Known) -> Iterator[int]:
    """Where the keys before the one that signs now gave way to their successors, oldest first."""
    places = {body: index for index, body in reversed(globallog.introductions(tenant))}
    for introduction in known.introductions[: known.vkeys.index(known.vkey)]:  # those after it are announced only
        yield places[introduction]


def _anchor(tenant: UUID, covering: int, key: note.VerifierKey) -> globallog.SignedHead:
    """A head of at least so many leaves under this key's signature, cosigned if that can be had."""
    found = witnesses.cosigned_head(tenant, covering, WAIT)
    if any(line.is_by(key) for line in note.parse(found.note).signatures):
        return found
    growth.sign(tenant, again=True)  # the key is new, and this head older than its first signature
    again = globallog.signed_head(tenant)
    assert again is not None
    return again


def _timestamp(anchor: globallog.SignedHead) -> bytes:
    try:
        stamped = timestamps.over(anchor, WAIT)
    except timestamps.NoTimestamp as error:
        logger.warning("an export goes without a time stamp: %s", error)
        return b""
    return stamped.token if stamped else b""


def _receipt(head: Leaf, anchor: Anchor) -> bytes:
    vkey, signature = signer.sign_receipt(anchor.note)
    if vkey != anchor.vkey:
        raise KeyGone()
    return receipt.make(note.parse_vkey(vkey), head.index, anchor.size, head.path, signature)


def policy(vkey: str = "") -> bytes:
    """Whom an auditor of this log may trust (C2SP tlog-policy): the log's key, and any one of the configured witnesses
    whose cosignatures verify.py knows. To be compared with the auditor's own.
    """
    cosigners = [each for each in witnesses.configured() if each.key.kind == note.COSIGNATURE]
    named = {each.key.name: Witness(each.key, each.url) for each in cosigners}
    log = Log(note.parse_vkey(vkey or signer.vkey()))
    if not named:
        return Policy((log,)).write()
    return Policy((log,), named, {QUORUM: Group(1, tuple(named))}, QUORUM).write()


class Installation:
    """This installation as the one that signs its bundles (see bundle.Signs), by its newest key, or by `key`, under
    which a head was signed earlier: the signer signs by both for as long as its rotation takes.
    """

    def __init__(self, key: str = "") -> None:
        self._key = key

    def vkey(self) -> str:
        """The log's public key."""
        return self._key or signer.vkey()

    def sign_head(self, head: Leaf, checkpoint: bytes) -> bytes:
        """The signed head of a log that is a leaf of the signed global head."""
        return self._alone(growth.signed_head(head.body, head.index, head.path, checkpoint))

    def sign_text(self, text: str) -> bytes:
        """A note over a text that is no head."""
        return self._alone(signer.sign_text(text))

    def _alone(self, signed: bytes) -> bytes:
        """The note with one key's signature; while keys change, the signer adds one of the old key."""
        text, _, block = signed.rpartition(b"\n\n")
        lines = block.splitlines(keepends=True)
        if self._key:
            wanted, known = note.parse_vkey(self._key), note.parse(signed).signatures
            lines = [line for line, read in zip(lines, known, strict=True) if read.is_by(wanted)]
            if not lines:
                raise KeyGone()
        return text + b"\n\n" + lines[0]
