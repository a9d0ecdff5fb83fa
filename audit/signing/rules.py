"""What the signer signs, and what it refuses.

Its memory lies outside the database and only ever grows. A head of the global log is signed when a consistency proof
shows that it continues the last one signed; a session's head when it stands in a global head signed before, and is no
smaller than the last one of that session. So a truncated, altered or restored ledger shows at the next signature. Who
can write both the database and this memory can still lie; against that help witnesses and the heads auditors hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from agentstate import clock
from audit.signing.errors import HeadRefused, NotSigned
from audit.signing.keyring import ROTATION, Keyring
from audit.signing.memory import Memory
from audit.tlog import note, tree
from audit.tlog.checkpoint import BadCheckpoint, Checkpoint, open_signed

GLOBAL = "global"
OVERLAP = timedelta(days=30)


@dataclass(frozen=True)
class Behind:
    """The proof does not begin at the last head that was signed, which has this size. Ask again with one that does."""

    size: int


class Signer:
    """Signs for the logs under `origin`, with keys and memory under `state_dir`. One process and thread at a time."""

    def __init__(
        self,
        state_dir: Path,
        origin: str,
        overlap: timedelta = OVERLAP,
        now: Callable[[], datetime] = clock.now,
        second: bool = False,
    ) -> None:
        self.origin = origin
        self.keys = Keyring(state_dir, origin, overlap, now, second)
        self.memory = Memory(state_dir / "signer")

    def vkey(self) -> str:
        """The public key that signs now, as verifiers take it."""
        return self.keys.vkey()

    def last(self) -> tuple[int, bytes] | None:
        """Size and root of the last head of the global log that was signed."""
        return self.memory.last(GLOBAL)

    def sign_global(self, size: int, root: bytes, old: int, proof: Sequence[bytes]) -> bytes | Behind:
        """The signed head of the global log, which continues the one of size `old`. Raises HeadRefused.

        A crash between remembering and answering is harmless: the same head may be asked for again.
        """
        body = Checkpoint(self.origin, size, root).body()
        signed, signed_root = self.last() or (0, tree.EMPTY_ROOT)
        if size < signed:
            raise HeadRefused(f"Got {size} leaves of the global log; signed {signed} before.", got=size, signed=signed)
        if old != signed:
            return Behind(signed)
        if not tree.extends(signed, size, signed_root, root, proof):
            raise HeadRefused(
                f"The global log of {size} leaves does not continue the one of {signed} that was signed before.",
                got=size,
                signed=signed,
            )
        if size > signed:
            self.memory.remember(GLOBAL, (size, root))
        return self.keys.sign_head(body)

    def sign_head(self, log: UUID, size: int, root: bytes, index: int, proof: Sequence[bytes], head: bytes) -> bytes:
        """The signed head of one log, whose body is leaf `index` of the global log as the note `head` signs it.

        Raises HeadRefused.
        """
        body = Checkpoint(f"{self.origin}/s/{log}", size, root).body()
        anchor = self._own_head(head)
        if not tree.verify_inclusion(index, anchor.size, tree.leaf_hash(body.encode()), proof, anchor.root):
            raise HeadRefused(
                f"The head of {log} with {size} entries is not in the global log of {anchor.size} leaves."
            )
        last = self.memory.last(str(log))
        _must_extend(last, size, root)
        if last != (size, root):
            self.memory.remember(str(log), (size, root))
        return self.keys.sign_head(body)

    def sign_receipt(self, head: bytes) -> tuple[str, bytes]:
        """Key and signature under the receipts of all leaves of the global head that the note `head` signs.

        Raises NotSigned when that is not one of ours.
        """
        return self.keys.sign_receipt(self._own_head(head))

    def sign_text(self, text: str) -> bytes:
        """A note over a text that is no head and introduces no key. Raises NotSigned."""
        title = text.split("\n", 1)[0]
        if " " not in title:
            raise NotSigned(
                "Only what begins with a title of several words is signed as a text: no origin has a space."
            )
        if title == ROTATION:
            raise NotSigned("A key is introduced by `manage.py rotate-log-key` only.")
        try:
            return self.keys.sign(text)
        except note.BadNote as error:
            raise NotSigned(f"{error}.") from None

    def activate(self, index: int, proof: Sequence[bytes], head: bytes) -> None:
        """Let the announced key sign, once the note that introduces it is leaf `index` of a signed global head."""
        introduction, anchor = self.keys.announce(), self._own_head(head)
        if not tree.verify_inclusion(index, anchor.size, tree.leaf_hash(introduction), proof, anchor.root):
            raise NotSigned("The new key is not in the global log yet.")
        self.keys.activate()

    def _own_head(self, data: bytes) -> Checkpoint:
        try:
            return open_signed(data, self.keys.known(), origin=self.origin)
        except (note.BadNote, BadCheckpoint) as error:
            raise NotSigned(f"This is no head of the global log that we signed: {error}.") from None


def _must_extend(last: tuple[int, bytes] | None, size: int, root: bytes) -> None:
    if last is None:
        return
    if size < last[0]:
        raise HeadRefused(f"Got {size} entries; signed {last[0]} before.", got=size, signed=last[0])
    if size == last[0] and root != last[1]:
        raise HeadRefused(
            f"Got root {root.hex()} at {size} entries; signed {last[1].hex()} before.", got=size, signed=size
        )
