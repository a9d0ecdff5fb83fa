"""Signs exports for this installation: what the signer asks for is brought along first."""

from __future__ import annotations

from uuid import UUID

from audit import globallog, ledger, sequencer, signer


class Installation:
    """This installation as the one that signs its bundles (see bundle.Signs)."""

    def vkey(self) -> str:
        """The log's public key."""
        return signer.vkey()

    def origin_of(self, log: UUID) -> str:
        """The name under which the heads of one log are signed."""
        return globallog.origin_of(log)

    def sign_head(self, log: UUID, size: int, root: bytes) -> bytes:
        """The signed head of `log`: the one asked for, or the one that it has by the time it is in the global log."""
        tenant = ledger.read_head(log).tenant
        place = sequencer.settle(log)
        head, anchor = globallog.head_body(tenant, place), globallog.signed_head(tenant)
        assert anchor is not None  # settled just now
        proof = globallog.inclusion(tenant, place.index, anchor.size)
        return signer.sign_head(log, place.size, head.root, place.index, proof, anchor.note)

    def sign_text(self, text: str) -> bytes:
        """A note over a text that is no head."""
        return signer.sign_text(text)
