"""A new log key. In this order, so that no key ever signs that the global log does not introduce: the signer makes it
and the old key signs its introduction; that note becomes a leaf of a signed head; then the signer may use it.
"""

from __future__ import annotations

from uuid import UUID

from audit import globallog, growth, sequencer, signer


def rotate(tenant: UUID) -> tuple[str, str]:
    """The old and the new public key. After an interruption it goes on where it was.

    Raises signer.SignerDown, signer.HeadRefused, sequencer.Unsettled.
    """
    old, introduction = signer.vkey(), signer.announce()
    index = next((index for index, note in globallog.introductions(tenant) if note == introduction), None)
    if index is None:
        index = sequencer.run_once(tenant, extra=[introduction]).size - 1
    growth.sign(tenant)
    head = globallog.signed_head(tenant)
    assert head is not None  # or signing would have raised
    return old, signer.activate(index, globallog.inclusion(tenant, index, head.size), head.note).vkey
