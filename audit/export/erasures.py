"""Proofs that staff erased a data subject, for bundles in which something of theirs is gone.

Each is one entry of a log of staff, `erasure.begun` or `erasure.key_destroyed`, under a head of that log which stands
in the same global head as the session's. Of its fields only the kind and the subject's key are shown: who asked, on
which basis and who approved concerns no reader of the session.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from uuid import UUID

from audit import erasure, globallog, ledger, sequencer, signer
from audit.proofs.sessiontree import LogTiles, forget
from audit.tlog import canonical, fields, tiles, tree
from audit.tlog.checkpoint import Checkpoint

logger = logging.getLogger("audit.export")
SHOWN = ("/kind", "/subject_key")


def begun_in(logs: Iterable[UUID]) -> list[UUID]:
    """The keys with entries in these logs whose erasure has begun."""
    rows = ledger.run(
        "SELECT DISTINCT kid FROM audit_keyedlog JOIN audit_subjectkey USING (kid) WHERE log = ANY(%(logs)s)"
        " AND (closing_at IS NOT NULL OR destroyed_at IS NOT NULL) ORDER BY kid",
        {"logs": list(logs)},
    )
    return [kid for (kid,) in rows]


def settle(kids: Iterable[UUID]) -> None:
    """See to it that the logs of staff with these erasures stand in a signed head. Raises signer.SignerDown."""
    for log in sorted({found.log for found in map(erasure.record_of, kids) if found is not None}):
        try:
            sequencer.settle(log)
        except signer.HeadRefused as error:  # it was altered: the bundle goes without, and the verifier says so
            logger.warning("the log of staff %s is not signed: %s", log, error)


def prove(tenant: UUID, kid: UUID, size: int) -> bytes | None:
    """The proof under the global head of `size` leaves; None where there is none under it."""
    found = erasure.record_of(kid)
    place = None if found is None else globallog.place_before(tenant, found.log, size)
    if found is None or place is None or place.size <= found.seq:
        return None
    body = globallog.body(tenant, place.index)
    head = globallog.head_body(tenant, place)
    leaf = tree.leaf_hash(found.envelope)
    path = _path(found.log, found.seq, leaf, head)
    if path is None:
        return None
    return canonical.dumps(
        {
            "entry": found.envelope.decode(),
            "head": {
                "body": body.decode(),
                "index": place.index,
                "path": [each.hex() for each in globallog.inclusion(tenant, place.index, size)],
            },
            "leaves": fields.leaves(found.okm, found.payload, lambda pointer, _value: pointer in SHOWN),
            "path": [each.hex() for each in path],
            "tenant": str(tenant),
        }
    )


def _path(log: UUID, seq: int, leaf: bytes, head: Checkpoint) -> list[bytes] | None:
    """The proof that the entry stands in its log; None where the log was altered. What was kept of its tree may be."""
    for _ in range(2):
        try:
            path = tiles.inclusion_proof(seq, head.size, LogTiles(log))
            if tree.verify_inclusion(seq, head.size, leaf, path, head.root):
                return path
        except (tiles.BadTile, tree.BadTree):
            pass
        forget(log)
    return None
