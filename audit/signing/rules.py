"""What the signer signs, and what it refuses.

Its memory lies outside the database and only ever grows. A head of the global log is signed when its leaves follow
those of the last one that was signed, and when every leaf among them that says the head of a log was admitted: the log
was proved to have grown to it from the last head that was signed, and from every head that was reported since. So a
truncated, altered or restored ledger shows at the next signature, of whichever log. Who can write both the database and
this memory can still lie; against that help witnesses and the heads auditors hold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from agentstate import clock
from audit.signing.errors import HeadRefused, NotSigned
from audit.signing.keyring import ROTATION, Keyring
from audit.signing.memory import NAME, Head, Memory
from audit.signing.messages import Growth, Unproved
from audit.signing.reports import Reports
from audit.tlog import growth, headleaf, note, tree
from audit.tlog.checkpoint import BadCheckpoint, Checkpoint, open_signed

GLOBAL = b"g".ljust(NAME, b"\0")
NOTHING: Head = (0, tree.EMPTY_ROOT)
OVERLAP = timedelta(days=30)
REFUSED = 30.0  # seconds after which a refusal that is not repeated is over: the log was put right
MOST_ADMITTED = 100_000  # heads that wait for their round; those of rounds that came to nothing are forgotten


@dataclass(frozen=True)
class Behind:
    """The leaves do not begin at the last head that was signed, which has this size. Ask again with those that do."""

    size: int


@dataclass(frozen=True, slots=True)
class _Admission:
    """A head that a log was proved to have grown to, from `since` and from the reported heads of these sizes."""

    log: UUID
    head: Head
    since: Head
    reported: tuple[int, ...]


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
        self.reports = Reports()
        self._admitted: dict[bytes, _Admission] = {}
        self._refused: dict[UUID, tuple[int, float]] = {}  # how often heads of a log were not admitted, and when last

    def vkey(self) -> str:
        """The public key that signs now, as verifiers take it."""
        return self.keys.vkey()

    def last(self) -> Head | None:
        """Size and root of the last head of the global log that was signed."""
        return self.memory.last(GLOBAL)

    def last_of(self, log: UUID) -> Head:
        """Size and root of the last head of one log that was signed; NOTHING: none was."""
        return self.memory.last(_name(log)) or NOTHING

    def admit(self, size: int, root: bytes, heads: Sequence[Growth]) -> list[Unproved]:
        """Takes heads of logs that are to stand in the global log after its leaves, `size` with this root; returns
        those that may not, with what is missing. Raises HeadRefused when that log is not the one that was signed.
        """
        signed = self.last() or NOTHING
        if size <= signed[0] and (size, root) != signed:
            raise _not_continued(size, signed[0])
        unproved = []
        for each in heads:
            try:
                log, head = self._read_leaf(each.body)
            except BadCheckpoint as error:
                raise NotSigned(f"A leaf is no head of a log under {self.origin}: {error}.") from None
            since = self.last_of(log)
            wanted = self.reports.sizes(log, since[0], head[0])
            why = self._why_not(log, head, since, wanted, each)
            if why:
                unproved.append(Unproved(log, (since[0], *wanted), why))
                self._refused[log] = self._refused.get(log, (0, 0.0))[0] + 1, time.monotonic()
            else:
                self._refused.pop(log, None)
                self._admitted[each.body] = _Admission(log, head, since, wanted)
        while len(self._admitted) > MOST_ADMITTED:
            del self._admitted[next(iter(self._admitted))]
        return unproved

    def refused(self) -> list[UUID]:
        """The logs whose head was not admitted lately when it was shown with all that was asked for."""
        soon = time.monotonic() - REFUSED
        return [log for log, (times, at) in self._refused.items() if times > 1 and at > soon]

    def _why_not(self, log: UUID, head: Head, since: Head, wanted: Sequence[int], shown: Growth) -> str:
        """Why this head may not stand in the global log; empty: it may."""
        size, root = head
        if size < since[0]:
            return f"Got {size} entries; signed {since[0]} before."
        if size == since[0]:
            return "" if root == since[1] else f"Got another root at {size} entries than was signed before."
        if not since[0] and not wanted:
            return ""  # every tree continues the empty one
        try:
            if shown.old != since[0] or tree.root(shown.frontier, shown.old) != since[1]:
                return f"It is not proved to continue the {since[0]} entries that were signed before."
            frontier, roots = growth.fold(shown.frontier, shown.old, size, shown.nodes, shown.via, wanted)
            if tree.root(frontier, size) != root:
                return f"Got {size} entries that do not continue the {since[0]} that were signed before."
        except tree.BadTree as error:
            return f"{error}."
        for each in wanted:
            if roots.get(each) != self.reports.root(log, each):
                return f"It is not proved to continue the {each} entries with a decision that were reported."
        return ""

    def sign_global(
        self, size: int, root: bytes, old: int, frontier: bytes, leaves: Sequence[bytes]
    ) -> bytes | Behind | list[Unproved]:
        """The signed head of the global log, which had `old` leaves and this frontier before `leaves` were added; or
        the heads among them that were not admitted. Raises HeadRefused.

        A crash between remembering and answering is harmless: the same head may be asked for again.
        """
        body = Checkpoint(self.origin, size, root).body()
        signed, signed_root = self.last() or NOTHING
        if size < signed:
            raise _not_continued(size, signed)
        if old != signed:
            return Behind(signed)
        continues = root == signed_root
        if size > signed:
            roots = _root(frontier, old, ()), _root(frontier, old, leaves)
            continues = size == old + len(leaves) and roots == (signed_root, root)
        if not continues:
            raise _not_continued(size, signed)
        if size > signed:
            heads, unproved = self._heads_in(leaves)
            if unproved:
                return unproved
            self.memory.remember({**{_name(log): head for log, head in heads.items()}, GLOBAL: (size, root)})
            for leaf in leaves:
                if (found := self._admitted.pop(leaf, None)) is not None:
                    self.reports.signed(found.log, *found.head, found.reported)
        return self.keys.sign_head(body)

    def _heads_in(self, leaves: Sequence[bytes]) -> tuple[dict[UUID, Head], list[Unproved]]:
        """The heads of logs that these leaves say, and those that were not admitted after what was signed."""
        prefix = f"{self.origin}/s/".encode()
        heads: dict[UUID, Head] = {}
        unproved = []
        for leaf in leaves:
            if not leaf.startswith(prefix):
                continue
            found = self._admitted.get(leaf)
            if found is None or found.since != (since := heads.get(found.log) or self.last_of(found.log)):
                log, head = self._read_leaf(leaf)
                since = heads.get(log) or self.last_of(log)
                if head != since:
                    wanted = self.reports.sizes(log, since[0], head[0])
                    unproved.append(Unproved(log, (since[0], *wanted), "It was not admitted."))
                heads[log] = head
            else:
                heads[found.log] = found.head
        return heads, unproved

    def _read_leaf(self, leaf: bytes) -> tuple[UUID, Head]:
        """The log and the head that a leaf says. Raises BadCheckpoint."""
        head, _ = headleaf.parse(leaf)
        origin, _, text = head.origin.rpartition("/s/")
        try:
            log = UUID(text)
        except ValueError:
            raise BadCheckpoint("it names no log") from None
        if origin != self.origin or str(log) != text:
            raise BadCheckpoint("it is of another origin")
        return log, (head.size, head.root)

    def confirm(self, log: UUID, old: int, frontier: bytes, nodes: bytes) -> None:
        """Takes the proof that the last signed head of a log continues a reported one. Raises HeadRefused."""
        size, root = self.last_of(log)
        try:
            grown, _ = growth.fold(frontier, old, size, nodes)
            good = tree.root(frontier, old) == self.reports.root(log, old) and tree.root(grown, size) == root
        except tree.BadTree:
            good = False
        if not good:
            raise HeadRefused(f"Log {log} of {size} entries does not continue the {old} that were reported.")
        self.reports.forget(log, old)

    def report(self, log: UUID, size: int, root: bytes) -> None:
        """Remembers, until it is signed or extended, that somebody committed a decision as an entry of this head."""
        if self.last_of(log) != (size, root):
            self.reports.add(log, size, root)

    def dismiss(self, log: UUID, size: int) -> None:
        """Waits no more for a reported head. Raises NotSigned when it does not wait."""
        if self.reports.root(log, size) is None:
            raise NotSigned(f"No reported head of log {log} with {size} entries waits.")
        self.reports.forget(log, size)

    def sign_head(
        self, body: bytes, index: int, proof: Sequence[bytes], head: bytes, grown: Sequence[bytes] = ()
    ) -> bytes | Behind:
        """The signed head of one log that is leaf `index`, `body`, of the global log as the note `head` signs it. One
        that is older than the log's last signed head needs `grown`, the consistency proof from it to that.

        Raises HeadRefused.
        """
        log, (size, root) = self._read_leaf(body)
        anchor = self._own_head(head)
        if not tree.verify_inclusion(index, anchor.size, tree.leaf_hash(body), proof, anchor.root):
            raise HeadRefused(
                f"The head of {log} with {size} entries is not in the global log of {anchor.size} leaves."
            )
        signed, signed_root = self.last_of(log)
        if size < signed and not grown:
            return Behind(signed)
        if (size, root) != (signed, signed_root) and not tree.verify_consistency(
            size, signed, root, signed_root, grown
        ):
            raise HeadRefused(
                f"Got {size} entries; signed {signed} before, and not after these.", got=size, signed=signed
            )
        return self.keys.sign_head(Checkpoint(f"{self.origin}/s/{log}", size, root).body())

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


def _name(log: UUID) -> bytes:
    """The name under which the heads of a log are remembered."""
    return b"l" + log.bytes


def _not_continued(size: int, signed: int) -> HeadRefused:
    words = f"The global log of {size} leaves does not continue the one of {signed} that was signed before."
    if size < signed:
        words = f"Got {size} leaves of the global log; signed {signed} before."
    return HeadRefused(words, got=size, signed=signed)


def _root(frontier: bytes, size: int, leaves: Sequence[bytes]) -> bytes:
    """The root of a tree of `size` leaves with these added; of what is no frontier of it none: it equals no other."""
    try:
        grown = tree.append(frontier, size, [tree.leaf_hash(leaf) for leaf in leaves])
        return tree.root(grown, size + len(leaves))
    except tree.BadTree:
        return b""
