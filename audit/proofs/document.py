"""The form of proofs: one canonical JSON document each, that needs nothing beside it but the log's key.

Every document names its kind and holds, in `log`, the signed head of the global log and the rotations of its key. What
follows depends on the kind:

    entry        one entry of a session, and its path to the session's head, which is a leaf of the global log
    range        entries from `start` to `end`, and that none is missing between
    session      all entries, and that there is no later one: by the newest head map, or by the session's seal
    absence      that the newest head map knows no log of this name
    consistency  that the log (of a session; of the installation where `session` is empty) continues an older head

An entry is opened in full (its key material and its payload), in some of its fields, or not at all, with the reason.
Hashes are hexadecimal, JSON text is text. Leaves of the global log are {body, index, path}, nearest hash first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentstate.errors import Refused
from audit.export.evidence import Leaf
from audit.tlog import canonical
from audit.tlog.fields import Field
from audit.tlog.headmap import MapProof
from audit.tlog.subtree import RangeProof

FORMAT = "agentstate-proof/1"
MAX_ENTRIES = 5_000  #: in one document; an export has room for more
MAX_DOCUMENT = 32_000_000  #: bytes

Closed = Literal["erased", "pruned", "withheld"]


class TooMany(Refused):
    """This is more than one proof holds."""

    code = "too_many_entries"
    remedy = "Ask for less at a time, or export the session."


@dataclass(frozen=True, slots=True)
class Opened:
    """What is shown of one entry: everything (`okm`, `payload`), some `fields`, or nothing and why not (`closed`)."""

    envelope: bytes
    okm: bytes = b""
    payload: bytes = b""
    fields: tuple[Field, ...] = ()
    closed: Closed = "withheld"

    def as_json(self) -> dict[str, Any]:
        """The entry for canonical JSON."""
        shown: dict[str, Any] = {"closed": self.closed}
        if self.okm:
            shown = {"okm": self.okm.hex(), "payload": self.payload.decode()}
        elif self.fields:
            shown = {"fields": [each.as_json() for each in self.fields]}
        return {"envelope": self.envelope.decode(), "shown": shown}


@dataclass(frozen=True, slots=True)
class Trust:
    """What every proof rests on: the global log's signed head, and the rotations of its key, oldest first."""

    checkpoint: bytes
    rotations: tuple[Leaf, ...] = ()


@dataclass(frozen=True, slots=True)
class Tail:
    """That a head is the session's latest: the newest head map, and the hashes from its row up to its root."""

    map: Leaf
    siblings: tuple[bytes, ...]


def entry(trust: Trust, head: Leaf, shown: Opened, path: Sequence[bytes]) -> bytes:
    """That an entry is in a session's log."""
    return _written("entry", trust, head=_leaf(head), entry=shown.as_json(), path=_hexed(path))


def extract(trust: Trust, head: Leaf, shown: Sequence[Opened], proof: RangeProof) -> bytes:
    """That entries stand one behind the other in a session's log. Raises TooMany."""
    return _written("range", trust, head=_leaf(head), entries=[each.as_json() for each in shown], range=proof.as_json())


def complete(trust: Trust, head: Leaf, shown: Sequence[Opened], tail: Tail) -> bytes:
    """All entries of a session. Raises TooMany."""
    said = {"map": _leaf(tail.map), "siblings": _hexed(tail.siblings)}
    return _written("session", trust, head=_leaf(head), entries=[each.as_json() for each in shown], tail=said)


def absence(trust: Trust, session: str, map_leaf: Leaf, proof: MapProof) -> bytes:
    """That there is no session of this id."""
    return _written("absence", trust, session=session, map=_leaf(map_leaf), proof=proof.as_json())


def log_growth(trust: Trust, size: int, root: bytes, path: Sequence[bytes]) -> bytes:
    """That the global log continues its head of `size` leaves."""
    old = {"root": root.hex(), "size": size}
    return _written("consistency", trust, session="", old=old, path=_hexed(path), last=None, head=None)


@dataclass(frozen=True, slots=True)
class Last:
    """The last entry of an older head, by its leaf hash, and its path to that head's root."""

    leaf: bytes
    path: tuple[bytes, ...]


def growth(trust: Trust, session: str, head: Leaf, size: int, root: bytes, path: Sequence[bytes], last: Last) -> bytes:
    """That a session's log continues its head of `size` entries, of which `last` was the last."""
    old = {"root": root.hex(), "size": size}
    named = {"leaf": last.leaf.hex(), "path": _hexed(last.path)}
    return _written("consistency", trust, session=session, old=old, path=_hexed(path), last=named, head=_leaf(head))


def _written(kind: str, trust: Trust, **parts: Any) -> bytes:
    rotations = [_leaf(each) for each in trust.rotations]
    log = {"checkpoint": trust.checkpoint.decode(), "rotations": rotations}
    data = canonical.dumps({"format": FORMAT, "kind": kind, "log": log, **parts})
    if len(data) > MAX_DOCUMENT:
        raise TooMany(f"it would have {len(data)} bytes, at most {MAX_DOCUMENT}")
    return data


def _leaf(leaf: Leaf) -> dict[str, Any]:
    return {"body": leaf.body.decode(), "index": leaf.index, "path": _hexed(leaf.path)}


def _hexed(values: Sequence[bytes]) -> list[str]:
    return [value.hex() for value in values]
