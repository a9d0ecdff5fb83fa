"""A signer, and a log in memory whose heads it signs."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from audit.signing.messages import Growth, Unproved
from audit.signing.rules import Behind, Signer
from audit.tlog import growth, headleaf, tree
from audit.tlog.checkpoint import Checkpoint

LOG = UUID("018f0000-0000-7000-8000-000000000001")
OTHER = UUID("018f0000-0000-7000-8000-000000000002")
ORIGIN = "log.example"
BODIES = [bytes([number]) for number in range(40)]
LEAVES = [tree.leaf_hash(body) for body in BODIES]
ENTRIES = [tree.leaf_hash(b"entry %d" % number) for number in range(600)]


def root(size: int) -> bytes:
    return tree.root_of(LEAVES[:size])


def asked(old: int, size: int) -> tuple[int, bytes, int, bytes, list[bytes]]:
    """The question for the head of `size` leaves after the one of `old`."""
    return size, root(size), old, tree.append(b"", 0, LEAVES[:old]), BODIES[old:size]


def signer(state_dir: Path, **more: object) -> Signer:
    return Signer(state_dir, ORIGIN, **more)  # type: ignore[arg-type]


def sign(state_dir: Path, size: int, old: int) -> bytes:
    signed = signer(state_dir).sign_global(*asked(old, size))
    assert isinstance(signed, bytes)
    return signed


class World:
    """A global log in memory, in which heads of sessions stand, and its signer. The session of LOG has ENTRIES."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir, self.bodies, self.own = state_dir, [], signer(state_dir)

    def leaf(self, size: int, root: bytes = b"", log: UUID = LOG) -> bytes:
        return headleaf.body(Checkpoint(f"{ORIGIN}/s/{log}", size, root or tree.root_of(ENTRIES[:size])), None)

    def shown(self, old: int, size: int, entries: list[bytes] = ENTRIES, via: tuple[int, ...] = ()) -> Growth:
        """That the session grew from `old` to `size` entries."""
        nodes = growth.nodes(old, b"".join(entries[old:size]), via)
        return Growth(
            self.leaf(size, tree.root_of(entries[:size])), old, tree.append(b"", 0, entries[:old]), nodes, via
        )

    def admit(self, heads: list[Growth]) -> list[Unproved]:
        leaves = [tree.leaf_hash(body) for body in self.bodies]
        return self.own.admit(len(leaves), tree.root_of(leaves), heads)

    def stand(self, *bodies: bytes) -> bytes | Behind | list[Unproved]:
        """These become leaves of the global log, and it is signed; if it is not, they go again."""
        old = [tree.leaf_hash(body) for body in self.bodies]
        leaves = [*old, *map(tree.leaf_hash, bodies)]
        signed = self.own.sign_global(
            len(leaves), tree.root_of(leaves), len(old), tree.append(b"", 0, old), list(bodies)
        )
        if isinstance(signed, bytes):
            self.bodies += bodies
        return signed

    def grow(self, old: int, size: int) -> bytes:
        shown = self.shown(old, size)
        assert self.admit([shown]) == []
        signed = self.stand(shown.body)
        assert isinstance(signed, bytes)
        return signed

    def sign_head(self, index: int, head: bytes, grown: tuple[bytes, ...] = ()) -> bytes | Behind:
        leaves = [tree.leaf_hash(body) for body in self.bodies]
        return self.own.sign_head(self.bodies[index], index, tree.inclusion_proof(index, leaves), head, grown)


def refusals(world: World, shown: Growth) -> str:
    """Why the signer does not admit it; and in the global log it gets no signature either."""
    (unproved,) = world.admit([shown])
    assert world.stand(shown.body) == [Unproved(LOG, unproved.sizes, "It was not admitted.")]
    return unproved.why


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now
